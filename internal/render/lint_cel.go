// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import "text/template/parse"

// celEmission checks what an action in a CEL fragment emits: literals, integers
// and other CEL fragments. Anything else would be source text from a value.
func (l *linter) celEmission(node *parse.ActionNode, cmd *parse.CommandNode) {
	offset := int(node.Pos)
	switch functionOf(cmd) {
	case "celString", "celList", "int", "int64", "fail":
	case "include":
		if name, ok := stringArgument(cmd, 1); ok && !isCEL(name) {
			l.atOffset(offset, "a CEL fragment includes %q, which is not CEL; only fragments named %s* may stand in an expression", name, celPrefix)
		}
	default:
		l.atOffset(offset, "%s in a CEL fragment; end it in celString, celList or int", shown(node))
	}
}

// celText checks the literal text between two actions of a CEL fragment: an
// action must not land in a string literal or a comment, nor glue to a token.
func (l *linter) celText(node *parse.TextNode, afterEmission, beforeEmission bool) {
	text := string(node.Text)
	if text == "" {
		return
	}
	if offset, problem := scanCEL(text); problem != "" {
		l.atOffset(int(node.Pos)+offset, "%s", problem)
		return
	}
	if afterEmission && gluesCEL(text[0]) || beforeEmission && gluesCEL(text[len(text)-1]) {
		l.atOffset(int(node.Pos), "an action touches a name, number or string literal in CEL text; put a space or an operator between them")
	}
}
