// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logql

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxQuery is the longest query, in bytes.
	maxQuery = 8 << 10
	// maxTokens bounds the work on one query.
	maxTokens = 4096
	// maxRange is the longest text of a range such as 5m, in bytes.
	maxRange = 32
)

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenNumber
	tokenString
	// tokenRange is [5m].
	tokenRange
	tokenOperator
)

// token is one word of LogQL.
type token struct {
	kind tokenKind
	// text is what is written to the log store. A string is quoted anew, so that it
	// cannot be read in another way than it was read here.
	text string
	// glued tells that nothing was between this token and the one before.
	glued bool
}

func (t token) is(operator string) bool { return t.kind == tokenOperator && t.text == operator }

// What a query is refused for. The texts are shown to users.
var (
	errQueryLength  = errors.New("the query is longer than 8192 bytes or has more than 4096 words: ask for less at once")
	errEncoding     = errors.New("the query is not valid UTF-8")
	errCharacter    = errors.New("the query has a character that no query needs outside of strings: write strings in double quotes or backquotes, and comments behind #")
	errUnterminated = errors.New("the query has a string, a selector, a range or a parenthesis that is not closed, or one that was never opened")
	errString       = errors.New("the query has a string with an unknown escape: double the backslash, or use backquotes")
	errRange        = errors.New("the query has a range that is no duration: write it like [5m]")
)

// operators with more than one character; the longer of two that begin alike is
// first. Those of one character are in [lexer.operator].
func operators() []string {
	return []string{"--keep-empty", "--strict", "|=", "|~", "|>", "!=", "!~", "!>", "=~", "==", ">=", "<="}
}

// lexer splits LogQL into words. It knows fewer than the log store does.
type lexer struct {
	rest   string
	tokens []token
}

// lex returns the words of a query, the last of which is the end. Comments are left
// out.
func lex(query string) ([]token, error) {
	if len(query) > maxQuery {
		return nil, errQueryLength
	}
	if !utf8.ValidString(query) {
		return nil, errEncoding
	}
	l := &lexer{rest: query}
	for {
		apart := l.skip()
		if l.rest == "" {
			return append(l.tokens, token{}), nil
		}
		if len(l.tokens) >= maxTokens {
			return nil, errQueryLength
		}
		next, err := l.next()
		if err != nil {
			return nil, err
		}
		next.glued = !apart
		l.tokens = append(l.tokens, next)
	}
}

// skip passes over white space and comments and tells whether there were any.
func (l *lexer) skip() bool {
	apart := false
	for l.rest != "" {
		trimmed := strings.TrimLeft(l.rest, " \t\r\n")
		if strings.HasPrefix(trimmed, "#") {
			_, trimmed, _ = strings.Cut(trimmed, "\n")
		}
		if trimmed == l.rest {
			return apart
		}
		l.rest, apart = trimmed, true
	}
	return apart
}

func (l *lexer) next() (token, error) {
	switch c := l.rest[0]; {
	case c == '"':
		return l.quoted()
	case c == '`':
		return l.raw()
	case c == '[':
		return l.ranged()
	case isLetter(c):
		return l.take(tokenWord, l.length(func(c byte) bool { return isLetter(c) || isDigit(c) })), nil
	case isDigit(c), c == '.' && len(l.rest) > 1 && isDigit(l.rest[1]):
		return l.number(), nil
	default:
		return l.operator()
	}
}

func (l *lexer) take(kind tokenKind, length int) token {
	text := l.rest[:length]
	l.rest = l.rest[length:]
	return token{kind: kind, text: text}
}

// length is that of the beginning all of whose bytes are in the class.
func (l *lexer) length(class func(byte) bool) int {
	for i := range len(l.rest) {
		if !class(l.rest[i]) {
			return i
		}
	}
	return len(l.rest)
}

// number takes numbers, durations and sizes.
func (l *lexer) number() token {
	length := l.length(func(c byte) bool { return isDigit(c) || isLetter(c) || c == '.' })
	text := l.rest[:length]
	exponent := strings.TrimLeft(text, "0123456789.")
	if (exponent == "e" || exponent == "E") && len(l.rest) > length+1 && strings.IndexByte("+-", l.rest[length]) >= 0 && isDigit(l.rest[length+1]) {
		length++ // The sign.
		for length < len(l.rest) && isDigit(l.rest[length]) {
			length++
		}
	}
	return l.take(tokenNumber, length)
}

func (l *lexer) quoted() (token, error) {
	for i := 1; i < len(l.rest); i++ {
		switch l.rest[i] {
		case '\\':
			i++
		case '"':
			return l.unquote(i + 1)
		}
	}
	return token{}, errUnterminated
}

func (l *lexer) raw() (token, error) {
	end := strings.IndexByte(l.rest[1:], '`')
	if end < 0 {
		return token{}, errUnterminated
	}
	return l.unquote(end + 2)
}

func (l *lexer) unquote(length int) (token, error) {
	value, err := strconv.Unquote(l.rest[:length])
	if err != nil || !utf8.ValidString(value) {
		return token{}, errString
	}
	l.rest = l.rest[length:]
	return token{kind: tokenString, text: strconv.Quote(value)}, nil
}

func (l *lexer) ranged() (token, error) {
	end := strings.IndexByte(l.rest, ']')
	if end < 0 {
		return token{}, errUnterminated
	}
	text := strings.Trim(l.rest[1:end], " \t\r\n")
	if text == "" || len(text) > maxRange || !isDigit(text[0]) {
		return token{}, errRange
	}
	for i := range len(text) {
		if c := text[i]; !isDigit(c) && !isLetter(c) && c != '.' {
			return token{}, errRange
		}
	}
	l.rest = l.rest[end+1:]
	return token{kind: tokenRange, text: "[" + text + "]"}, nil
}

func (l *lexer) operator() (token, error) {
	for _, operator := range operators() {
		if strings.HasPrefix(l.rest, operator) && (operator[0] != '-' || !l.continues(len(operator))) {
			return l.take(tokenOperator, len(operator)), nil
		}
	}
	// The log store takes // and /* for comments, and -- for a flag of a parser.
	for _, other := range []string{"//", "/*", "--"} {
		if strings.HasPrefix(l.rest, other) {
			return token{}, errCharacter
		}
	}
	if strings.IndexByte("{}(),|=><+-*/%^", l.rest[0]) < 0 {
		return token{}, errCharacter
	}
	return l.take(tokenOperator, 1), nil
}

// continues tells whether a word goes on at a place.
func (l *lexer) continues(at int) bool {
	return len(l.rest) > at && (isLetter(l.rest[at]) || isDigit(l.rest[at]) || l.rest[at] == '-')
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
