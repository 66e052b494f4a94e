// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"text/template/parse"
)

// nest rewrites a pipeline "a | f x | g" to the one command "g (f x (a))",
// which means the same and lets lint and type check look at arguments only.
// Parentheses around a whole pipeline disappear. The tree is not changed.
func nest(pipe *parse.PipeNode) *parse.CommandNode {
	var nested *parse.CommandNode
	for _, cmd := range pipe.Cmds {
		next := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: cmd.Pos}
		for _, arg := range cmd.Args {
			next.Args = append(next.Args, nestNode(arg))
		}
		if nested != nil {
			next.Args = append(next.Args, pipeOf(nested))
		}
		if inner := soleCommand(next); inner != nil {
			next = inner
		}
		nested = next
	}
	return nested
}

func nestNode(node parse.Node) parse.Node {
	switch node := node.(type) {
	case *parse.PipeNode:
		return pipeOf(nest(node))
	case *parse.ChainNode:
		return &parse.ChainNode{NodeType: parse.NodeChain, Pos: node.Pos, Node: nestNode(node.Node), Field: node.Field}
	default:
		return node
	}
}

func pipeOf(cmd *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: cmd.Pos, Cmds: []*parse.CommandNode{cmd}}
}

// soleCommand returns the command in a parenthesised argument that is all the
// command consists of.
func soleCommand(cmd *parse.CommandNode) *parse.CommandNode {
	if len(cmd.Args) != 1 {
		return nil
	}
	return innerCommand(cmd.Args[0])
}

// innerCommand returns the command of a nested argument, if it is one.
func innerCommand(arg parse.Node) *parse.CommandNode {
	if pipe, ok := arg.(*parse.PipeNode); ok && len(pipe.Cmds) == 1 {
		return pipe.Cmds[0]
	}
	return nil
}

// functionOf returns the name of the function a nested command calls.
func functionOf(cmd *parse.CommandNode) string {
	if cmd == nil || len(cmd.Args) == 0 {
		return ""
	}
	if ident, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return ident.Ident
	}
	return ""
}

// lastArgument returns the nested command that feeds a command, if its last
// argument is one.
func lastArgument(cmd *parse.CommandNode) *parse.CommandNode {
	if len(cmd.Args) < 2 {
		return nil
	}
	return innerCommand(cmd.Args[len(cmd.Args)-1])
}

// eachCommand calls visit for a nested command and every command in it, the
// inner ones first. A function named without arguments counts as a command.
func eachCommand(cmd *parse.CommandNode, visit func(*parse.CommandNode)) {
	for i, arg := range cmd.Args {
		if _, isIdent := arg.(*parse.IdentifierNode); i > 0 || !isIdent {
			eachArgument(arg, visit)
		}
	}
	visit(cmd)
}

func eachArgument(arg parse.Node, visit func(*parse.CommandNode)) {
	switch node := arg.(type) {
	case *parse.PipeNode:
		for _, cmd := range node.Cmds {
			eachCommand(cmd, visit)
		}
	case *parse.ChainNode:
		eachArgument(node.Node, visit)
	case *parse.IdentifierNode:
		visit(&parse.CommandNode{NodeType: parse.NodeCommand, Pos: node.Pos, Args: []parse.Node{node}})
	}
}

// stringArgument returns the literal text of an argument.
func stringArgument(cmd *parse.CommandNode, index int) (string, bool) {
	if index >= len(cmd.Args) {
		return "", false
	}
	if pipe := innerCommand(cmd.Args[index]); pipe != nil && len(pipe.Args) == 1 {
		text, ok := pipe.Args[0].(*parse.StringNode) // a literal that was piped in
		if ok {
			return text.Text, true
		}
	}
	text, ok := cmd.Args[index].(*parse.StringNode)
	if !ok {
		return "", false
	}
	return text.Text, true
}
