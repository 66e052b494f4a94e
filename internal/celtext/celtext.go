// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package celtext writes CEL source text. It owns the quoting of user strings:
// nothing a user wrote reaches an expression except through [String] or
// [List]. It does not parse or evaluate CEL.
package celtext

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrInvalidUTF8 is returned for text that has no CEL string literal.
var ErrInvalidUTF8 = errors.New("text is not valid UTF-8")

// String returns the CEL string literal of s, in double quotes. The literal is
// one line of printable ASCII, so it can stand in any surrounding text.
func String(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", ErrInvalidUTF8
	}
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= 0x20 && r < 0x7f:
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			fmt.Fprintf(&b, "\\U%08x", r)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}

// List returns the CEL list literal of the given strings, in their order.
func List(items []string) (string, error) {
	literals := make([]string, 0, len(items))
	for _, item := range items {
		literal, err := String(item)
		if err != nil {
			return "", err
		}
		literals = append(literals, literal)
	}
	return "[" + strings.Join(literals, ", ") + "]", nil
}

// And joins predicates so that all must hold. Each is put in parentheses when
// it has an operator of its own.
func And(predicates ...string) string { return join(" && ", predicates) }

// Or joins predicates so that one must hold.
func Or(predicates ...string) string { return join(" || ", predicates) }

// Not negates a predicate.
func Not(predicate string) string { return "!(" + predicate + ")" }

// Cond yields then where the condition holds, otherwise the other value.
func Cond(condition, then, otherwise string) string {
	return "(" + condition + " ? " + then + " : " + otherwise + ")"
}

// Let yields the body, in which the variable stands for the value. It is
// written with the map macro, which every CEL environment has.
func Let(variable, value, body string) string {
	return "[" + value + "].map(" + variable + ", " + body + ")[0]"
}

func join(operator string, predicates []string) string {
	if len(predicates) == 1 {
		return predicates[0]
	}
	parts := make([]string, 0, len(predicates))
	for _, p := range predicates {
		parts = append(parts, "("+p+")")
	}
	return strings.Join(parts, operator)
}
