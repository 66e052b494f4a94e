// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strings"
	"text/template/parse"
)

// dialect is the language the text of a template is written in.
type dialect int

const (
	dialectObject   dialect = iota // a whole object in YAML
	dialectFragment                // lines of YAML
	dialectCEL                     // CEL source text
)

// celPrefix begins the names of fragments that are CEL.
const celPrefix = "cel."

func isCEL(name string) bool { return strings.HasPrefix(name, celPrefix) }

// form is what an emitting action puts into the text.
type form int

const (
	formNothing form = iota // it only fails
	formScalar              // one complete scalar on one line
	formBlock               // whole lines, placed by nindent
)

// emission is an action that puts something into the text.
type emission struct {
	form   form
	column int // of a block
}

// includeCall is a use of a fragment.
type includeCall struct {
	name   string
	offset int
}

// linter checks the actions of one template body.
type linter struct {
	*report
	rules     *lintRules
	dialect   dialect
	scopes    int              // enclosing range and with, in which dot is not the whole value
	emissions map[int]emission // by offset of the action's first token
	calls     []includeCall
}

// lintRules is what the linter knows of the engine.
type lintRules struct {
	allowed []string // functions, sorted
	images  map[string]string
}

// list walks the nodes of a body.
func (l *linter) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for i, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			if l.dialect == dialectCEL {
				l.celText(node, i > 0 && isEmission(list.Nodes[i-1]), i+1 < len(list.Nodes) && isEmission(list.Nodes[i+1]))
			}
		case *parse.ActionNode:
			l.action(node)
		case *parse.IfNode:
			l.branch(&node.BranchNode, 0)
		case *parse.WithNode:
			l.branch(&node.BranchNode, 1)
		case *parse.RangeNode:
			l.branch(&node.BranchNode, 1)
		case *parse.TemplateNode:
			l.atOffset(int(node.Pos), `{{ template %q }} cannot be quoted or indented; use include %q`, node.Name, node.Name)
		}
	}
}

func (l *linter) branch(node *parse.BranchNode, scope int) {
	cmd := nest(node.Pipe)
	l.commands(cmd)
	eachCommand(cmd, func(c *parse.CommandNode) {
		if functionOf(c) == "include" {
			l.atOffset(int(c.Pos), "include in a condition; decide on values, not on text")
		}
	})
	l.scopes += scope
	l.list(node.List)
	l.scopes -= scope
	l.list(node.ElseList)
}

func (l *linter) action(node *parse.ActionNode) {
	cmd := nest(node.Pipe)
	l.commands(cmd)
	if len(node.Pipe.Decl) > 0 {
		if l.dialect != dialectCEL && containsCEL(cmd) && functionOf(cmd) != "oneline" {
			l.atOffset(int(node.Pos), "a CEL fragment is kept in a variable; add | oneline")
		}
		return
	}
	if l.dialect == dialectCEL {
		l.celEmission(node, cmd)
		return
	}
	l.yamlEmission(node, cmd)
}

// commands checks every function call of a pipeline.
func (l *linter) commands(cmd *parse.CommandNode) {
	eachCommand(cmd, func(c *parse.CommandNode) {
		function := functionOf(c)
		if function == "" {
			return
		}
		if _, ok := slices.BinarySearch(l.rules.allowed, function); !ok {
			l.unknownFunction(int(c.Pos), function)
			return
		}
		l.literals(c, function)
	})
}

func (l *linter) unknownFunction(offset int, function string) {
	if remedy, ok := remedies[function]; ok {
		l.atOffset(offset, "function %s is not available: %s", function, remedy)
		return
	}
	l.atOffset(offset, "function %s is not available; the functions are %s", function, strings.Join(l.rules.allowed, ", "))
}

// literals checks the arguments that must be known before rendering.
func (l *linter) literals(cmd *parse.CommandNode, function string) {
	offset := int(cmd.Pos)
	switch function {
	case "include":
		name, ok := stringArgument(cmd, 1)
		if !ok || len(cmd.Args) != 3 {
			l.atOffset(offset, `include needs the name of a fragment as literal text and one value: include "name" .`)
			return
		}
		l.calls = append(l.calls, includeCall{name: name, offset: offset})
	case "image":
		key, ok := stringArgument(cmd, 1)
		if !ok {
			l.atOffset(offset, `image needs its key as literal text: image "key"`)
		} else if _, known := l.rules.images[key]; !known {
			l.atOffset(offset, "image %q is not known; add it to the image list", key)
		}
	case "printf":
		l.printfFormat(cmd)
	case "nindent", "indent":
		if _, ok := numberArgument(cmd); !ok {
			l.atOffset(offset, "%s needs a literal number of columns", function)
		}
	case "toYaml", "toJson":
		if l.dialect == dialectObject && len(cmd.Args) == 2 && l.isWholeValue(cmd.Args[1]) {
			l.atOffset(offset, "%s of the whole value; name the fields to emit", function)
		}
	}
}

func (l *linter) printfFormat(cmd *parse.CommandNode) {
	format, ok := stringArgument(cmd, 1)
	if !ok {
		l.atOffset(int(cmd.Pos), "printf needs its format as literal text")
		return
	}
	verbs, err := verbsOf(format)
	switch {
	case err != nil:
		l.atOffset(int(cmd.Pos), "printf %q: %v", format, err)
	case len(verbs) != len(cmd.Args)-2:
		l.atOffset(int(cmd.Pos), "printf %q has %d verbs, but %d arguments follow", format, len(verbs), len(cmd.Args)-2)
	}
}

// isWholeValue tells whether an argument is everything the template was given.
func (l *linter) isWholeValue(arg parse.Node) bool {
	if inner := innerCommand(arg); inner != nil && len(inner.Args) == 1 {
		arg = inner.Args[0]
	}
	switch node := arg.(type) {
	case *parse.DotNode:
		return l.scopes == 0
	case *parse.VariableNode:
		return len(node.Ident) == 1 && node.Ident[0] == "$"
	}
	return false
}

// numberArgument returns the first argument if it is a literal, sensible number
// of columns.
func numberArgument(cmd *parse.CommandNode) (int, bool) {
	if len(cmd.Args) < 2 {
		return 0, false
	}
	number, ok := cmd.Args[1].(*parse.NumberNode)
	const maxColumns = 100
	if !ok || !number.IsInt || number.Int64 < 0 || number.Int64 > maxColumns {
		return 0, false
	}
	return int(number.Int64), true
}

// containsCEL tells whether a nested command includes a CEL fragment.
func containsCEL(cmd *parse.CommandNode) bool {
	found := false
	eachCommand(cmd, func(c *parse.CommandNode) {
		if name, ok := stringArgument(c, 1); ok && functionOf(c) == "include" && isCEL(name) {
			found = true
		}
	})
	return found
}

// isEmission tells whether a node puts something of its own into the text.
func isEmission(node parse.Node) bool {
	action, ok := node.(*parse.ActionNode)
	return ok && len(action.Pipe.Decl) == 0
}
