// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"strings"
)

// oneline joins the lines of CEL text, each trimmed, by one space. Between
// tokens that changes nothing; it would change string literals that span lines
// and comments, so those are errors. So is a literal that touches a name or
// another literal: as a prefix the name would change how the literal is read.
func oneline(text string) (string, error) {
	if _, problem := scanCEL(text); problem != "" {
		return "", errors.New(problem)
	}
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, " "), nil
}

// scanCEL walks over CEL text and reports the first thing that must not stand
// in it. Without prefixes and triple quotes a literal is read the same way
// wherever it stands, so the walk is exact.
func scanCEL(text string) (offset int, problem string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case strings.HasPrefix(text[i:], "//"):
			return i, "comment in CEL text would swallow the rest of the line; use {{/* */}}"
		case c != '"' && c != '\'':
		case i > 0 && gluesCEL(text[i-1]):
			return i, "a string literal touches a name or another literal in CEL text (prefixes and triple quotes are not permitted); put a space or an operator in front of it"
		default:
			end := literalEnd(text, i)
			if end < 0 {
				return i, "a string literal in CEL text does not end on its line, or encloses an action; build the text with celString (printf ...)"
			}
			i = end
		}
	}
	return 0, ""
}

// literalEnd returns the index of the quote that ends the literal at start, or
// -1 if it does not end in this line of text.
func literalEnd(text string, start int) int {
	for i := start + 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case text[start]:
			return i
		case '\\':
			i++
		}
	}
	return -1
}

func gluesCEL(c byte) bool {
	return c == '"' || c == '\'' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
