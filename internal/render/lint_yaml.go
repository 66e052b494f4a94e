// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"text/template/parse"
)

// yamlEmission checks what an action in YAML text ends in, and records what it
// emits for the layout check.
func (l *linter) yamlEmission(node *parse.ActionNode, cmd *parse.CommandNode) {
	offset := int(node.Pos)
	emitted := emission{form: formScalar}
	switch function := functionOf(cmd); function {
	case "quote", "toJson":
		l.celIntoYAML(offset, cmd)
	case "int", "int64", "image":
	case "fail":
		emitted.form = formNothing
	case "nindent":
		emitted.form = formBlock
		emitted.column, _ = numberArgument(cmd)
		l.blockFeeder(offset, cmd)
	case "":
		l.atOffset(offset, "%s is emitted as it is; end it in quote (text), int (integers), toJson (booleans) or toYaml | nindent N (maps and lists)", shown(node))
	case "toYaml", "labels":
		l.atOffset(offset, "%s may write several lines; place it with nindent N, or use toJson on one line", function)
	case "include":
		l.bareInclude(offset, cmd)
	default:
		l.atOffset(offset, "%s ends in %s, whose result YAML may read as something else; add | quote", shown(node), function)
	}
	l.emissions[offset] = emitted
}

func (l *linter) bareInclude(offset int, cmd *parse.CommandNode) {
	if name, _ := stringArgument(cmd, 1); isCEL(name) {
		l.atOffset(offset, "CEL fragment %q enters YAML only as: include %q . | oneline | quote", name, name)
		return
	}
	l.atOffset(offset, "include needs a place for its lines: add | nindent N, or | quote if the text is one value")
}

// celIntoYAML makes sure that CEL text, which may stand on several lines,
// becomes one line in front of the final quote.
func (l *linter) celIntoYAML(offset int, cmd *parse.CommandNode) {
	if containsCEL(cmd) && (functionOf(cmd) != "quote" || functionOf(lastArgument(cmd)) != "oneline") {
		l.atOffset(offset, "a CEL fragment must end in | oneline | quote")
	}
}

// blockFeeder checks that the lines placed by nindent come from a function
// that writes whole YAML lines.
func (l *linter) blockFeeder(offset int, cmd *parse.CommandNode) {
	feeder := lastArgument(cmd)
	switch function := functionOf(feeder); function {
	case "toYaml", "labels":
	case "include":
		if name, _ := stringArgument(feeder, 1); isCEL(name) {
			l.bareInclude(offset, feeder)
		}
	case "":
		l.atOffset(offset, "nindent places text that is not quoted; put toYaml in front of it")
	default:
		l.atOffset(offset, "nindent places the result of %s, which is not lines of YAML; use toYaml, labels or include in front of nindent, or quote without it", function)
	}
}

// shown returns the source of an action for a message.
func shown(node *parse.ActionNode) string {
	const maxShown = 60
	text := node.String()
	if len(text) > maxShown {
		return fmt.Sprintf("%.*s…", maxShown, text)
	}
	return text
}
