// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import "strings"

// span is a part of an expression.
type span struct{ from, to int }

func (s span) text(expression string) string { return strings.TrimSpace(expression[s.from:s.to]) }

// removed is the expression in which the operand holds whatever is asked.
func (s span) removed(expression string) string {
	return expression[:s.from] + "true" + expression[s.to:]
}

// operands are those of a predicate that is a conjunction, or says of all items of a
// list that a conjunction holds; none if it is neither. The text is enough to find them:
// generated predicates quote what stands in quotes, and close what they open.
func operands(predicate string) []span {
	from, to := 0, len(predicate)
	if body, found := quantified(predicate); found {
		from, to = body.from, body.to
	}
	parts := split(predicate, from, to)
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// quantified is what must hold of all items of a list: B in [x].all(s, B).
func quantified(predicate string) (span, bool) {
	const word = ".all("
	if !strings.HasPrefix(predicate, "[") || !strings.HasSuffix(predicate, ")") {
		return span{}, false
	}
	depth := 0
	for i := range scan(predicate, 0, len(predicate), &depth) {
		if depth == 0 && strings.HasPrefix(predicate[i:], word) {
			comma := strings.Index(predicate[i:], ", ")
			return span{i + comma + len(", "), len(predicate) - 1}, comma > 0
		}
	}
	return span{}, false
}

// split cuts a part of an expression at each "&&" outside of brackets. A disjunction is
// one operand.
func split(expression string, from, to int) []span {
	const and, or, choice = " && ", " || ", " ? "
	var parts []span
	depth, begin := 0, from
	for i := range scan(expression, from, to, &depth) {
		if depth != 0 {
			continue
		}
		switch rest := expression[i:to]; {
		case strings.HasPrefix(rest, or), strings.HasPrefix(rest, choice):
			return nil
		case strings.HasPrefix(rest, and):
			parts = append(parts, span{begin, i})
			begin = i + len(and)
		}
	}
	return append(parts, span{begin, to})
}

// scan goes through what is not quoted, and keeps count of the brackets that are open.
func scan(expression string, from, to int, depth *int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		quoted := false
		for i := from; i < to; i++ {
			switch c := expression[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case strings.IndexByte("([{", c) >= 0:
				*depth++
			case strings.IndexByte(")]}", c) >= 0:
				*depth--
			default:
				if !yield(i) {
					return
				}
			}
		}
	}
}
