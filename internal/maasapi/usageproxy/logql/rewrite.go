// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logql

import (
	"errors"
	"strconv"
	"strings"
)

// Names of what the restriction is about, as the log store has them.
const (
	namespaceLabel = "kubernetes_namespace_name"
	userLabel      = "user_id"
)

// maxDepth bounds parentheses in parentheses.
const maxDepth = 64

var (
	errSelector = errors.New("the query has a selector that is not understood: write it like {service_name=\"models-as-a-service\", model=~\"a|b\"}")
	errBehind   = errors.New("the query has something behind a selector that does not begin with a vertical bar, ! or a range: begin filters and stages like | json")
	errOrder    = errors.New("the query has a stage behind a range: write the range behind the stages, like {…} | json [5m]")
	errDepth    = errors.New("the query has too many parentheses in each other: take some apart")
	errOnly     = errors.New("the parameter query of labels must be one selector, like {service_name=\"models-as-a-service\"}")
)

// Restriction is what every selector of a query is narrowed to.
type Restriction struct {
	// Namespace is that of the records, User whose they are.
	Namespace, User string
}

func (r Restriction) matcher() string { return namespaceLabel + "=" + strconv.Quote(r.Namespace) }

// Filter is a stage that drops the records of others. What comes behind it sees
// nothing of them, and must not be able to widen it: see [behindSelector].
func (r Restriction) Filter() string { return " | " + userLabel + "=" + strconv.Quote(r.User) }

// Rewrite narrows a query. The result is written from the words of the query and not
// copied from its text: nothing reaches the log store that was not understood here.
func (r Restriction) Rewrite(query string) (string, error) {
	tokens, err := lex(query)
	if err != nil {
		return "", err
	}
	w := &rewriter{restriction: r, tokens: tokens}
	for w.current().kind != tokenEnd {
		if err := w.step(); err != nil {
			return "", err
		}
	}
	if w.depth != 0 {
		return "", errUnterminated
	}
	return w.out.String(), nil
}

// Selector narrows a query that must be one selector. An empty one stands for all.
func (r Restriction) Selector(query string) (string, error) {
	if query == "" {
		query = "{}"
	}
	tokens, err := lex(query)
	if err != nil {
		return "", err
	}
	w := &rewriter{restriction: r, tokens: tokens}
	if !w.current().is("{") {
		return "", errOnly
	}
	if err := w.selector(); err != nil {
		return "", err
	}
	if w.current().kind != tokenEnd {
		return "", errOnly
	}
	return w.out.String(), nil
}

type rewriter struct {
	restriction Restriction
	tokens      []token
	at, depth   int
	out         strings.Builder
}

// current is the next token; behind the last one it is the end.
func (w *rewriter) current() token { return w.peek(0) }

func (w *rewriter) peek(ahead int) token {
	return w.tokens[min(w.at+ahead, len(w.tokens)-1)]
}

func (w *rewriter) step() error {
	next := w.current()
	switch {
	case next.is("{"):
		if err := w.selector(); err != nil {
			return err
		}
		if err := w.behindSelector(); err != nil {
			return err
		}
		w.out.WriteString(w.restriction.Filter())
		return nil
	case next.is("}"):
		return errUnterminated
	case next.is("("):
		if w.depth++; w.depth > maxDepth {
			return errDepth
		}
	case next.is(")"):
		if w.depth--; w.depth < 0 {
			return errUnterminated
		}
	}
	w.write(next)
	return nil
}

// write puts a token down. Between two there is a space, but where the log store
// could want none: between a function and its parenthesis, and a sign and its number.
func (w *rewriter) write(t token) {
	if w.at > 0 {
		before := w.tokens[w.at-1]
		call := t.is("(") && before.kind == tokenWord
		sign := t.glued && before.is("-") && t.kind == tokenNumber
		if !call && !sign {
			w.out.WriteByte(' ')
		}
	}
	w.out.WriteString(t.text)
	w.at++
}

// selector writes the selector that begins here, narrowed.
func (w *rewriter) selector() error {
	if w.at > 0 {
		w.out.WriteByte(' ')
	}
	w.out.WriteString("{" + w.restriction.matcher())
	w.at++
	for first := true; !w.current().is("}"); first = false {
		if !first {
			if !w.current().is(",") {
				return errSelector
			}
			w.at++
		}
		name, operator, value := w.peek(0), w.peek(1), w.peek(2)
		if name.kind != tokenWord || !isMatch(operator) || value.kind != tokenString {
			return errSelector
		}
		w.out.WriteString(", " + name.text + operator.text + value.text)
		w.at += 3
	}
	w.out.WriteByte('}')
	w.at++
	return nil
}

func isMatch(t token) bool { return t.is("=") || t.is("!=") || t.is("=~") || t.is("!~") }

// behindSelector refuses what could join the filter that is written here and widen
// it: {…} or user_id="other" is no query, but {…} | user_id="me" or user_id="other"
// would be one. Only what begins a stage of its own, or ends the selector, is left.
func (w *rewriter) behindSelector() error {
	next := w.current()
	switch {
	case next.kind == tokenRange:
		if w.peek(1).is("|") && w.peek(2).text != "unwrap" {
			return errOrder
		}
		return nil
	case next.kind == tokenEnd, next.is(")"):
		return nil
	case next.is("|"), next.is("|="), next.is("|~"), next.is("|>"), next.is("!="), next.is("!~"), next.is("!>"):
		return nil
	default:
		return errBehind
	}
}
