// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"
	"text/template/parse"
)

// A guard is an action that is type-checked and never executed. The builtin
// comparisons are strict enough to tell integers from strings.

type guard func(arg parse.Node) parse.Node

// guardInteger type-checks for integers only.
func guardInteger(arg parse.Node) parse.Node {
	zero := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: arg.Position(), IsInt: true, Text: "0"}
	return guardCall("eq", arg, zero)
}

// guardOrdered type-checks for integers and strings.
func guardOrdered(arg parse.Node) parse.Node { return guardCall("le", arg, arg) }

// guardText type-checks for strings only.
func guardText(arg parse.Node) parse.Node { return guardCall(guardString, arg) }

// guardBoolean type-checks for booleans only.
func guardBoolean(arg parse.Node) parse.Node {
	yes := &parse.BoolNode{NodeType: parse.NodeBool, Pos: arg.Position(), True: true}
	return guardCall("eq", arg, yes)
}

func guardCall(function string, args ...parse.Node) parse.Node {
	pos := args[0].Position()
	ident := parse.NewIdentifier(function).SetPos(pos)
	cmd := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{ident}, args...)}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipeOf(cmd)}
}

func guardEach(args []parse.Node, g guard) []parse.Node {
	nodes := make([]parse.Node, 0, len(args))
	for _, arg := range args {
		nodes = append(nodes, g(arg))
	}
	return nodes
}

// printfGuards checks every argument against its verb.
func printfGuards(cmd *parse.CommandNode) []parse.Node {
	format, _ := stringArgument(cmd, 1)
	verbs, err := verbsOf(format)
	if err != nil || len(verbs) != len(cmd.Args)-2 {
		return nil // the linter says so
	}
	guards := map[byte]guard{verbString: guardText, verbInteger: guardInteger, verbBoolean: guardBoolean}
	var nodes []parse.Node
	for i, verb := range verbs {
		nodes = append(nodes, guards[verb](cmd.Args[i+2]))
	}
	return nodes
}

// typeMessage words a type error for the author of the template.
func typeMessage(context, message string) string {
	switch {
	case strings.HasPrefix(message, "incompatible types for comparison: "):
		message = "types do not go together: " + strings.TrimPrefix(message, "incompatible types for comparison: ")
	case strings.HasPrefix(message, "wrong type: "):
		message += "; convert it (int and toString take integers, toJson takes booleans and lists) or use a field of that type"
	case strings.HasPrefix(message, "can't use field "):
		message += "; check the spelling against templates/values"
	}
	return fmt.Sprintf("%s: %s", context, message)
}
