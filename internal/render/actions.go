// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"sort"
	"strconv"
	"strings"
)

// action is one {{ ... }} of a source file.
type action struct {
	start, end int    // byte range, delimiters included
	word       string // the keyword if it is a control action, "comment", or empty
	leftTrim   bool   // begins with {{-
	rightTrim  bool   // ends with -}}
}

const commentWord = "comment"

var controlWords = [...]string{"if", "range", "with", "else", "end", "define", "block", "template", "break", "continue"}

// scanActions finds the actions of a text that the template parser accepted.
func scanActions(text string) []action {
	var actions []action
	for offset := 0; ; {
		i := strings.Index(text[offset:], "{{")
		if i < 0 {
			return actions
		}
		a := scanAction(text, offset+i)
		actions = append(actions, a)
		offset = a.end
	}
}

func scanAction(text string, start int) action {
	a := action{start: start}
	i := start + len("{{")
	if strings.HasPrefix(text[i:], "- ") || strings.HasPrefix(text[i:], "-\n") {
		a.leftTrim = true
		i++
	}
	if strings.HasPrefix(text[i:], "/*") || a.leftTrim && strings.HasPrefix(strings.TrimLeft(text[i:], " \n"), "/*") {
		a.word = commentWord
		if end := strings.Index(text[i:], "*/"); end >= 0 {
			i += end
		}
	} else {
		a.word = controlWord(text[i:])
	}
	for i < len(text) && !strings.HasPrefix(text[i:], "}}") {
		i = skipToken(text, i)
	}
	a.rightTrim = strings.HasSuffix(text[:i], " -")
	a.end = min(i+len("}}"), len(text))
	return a
}

// skipToken steps over one character, or over a whole string or character
// constant, in which "}}" does not end the action.
func skipToken(text string, i int) int {
	delimiter := text[i]
	if delimiter != '"' && delimiter != '\'' && delimiter != '`' {
		return i + 1
	}
	for i++; i < len(text) && text[i] != delimiter; i++ {
		if text[i] == '\\' && delimiter != '`' {
			i++
		}
	}
	return i + 1
}

func controlWord(text string) string {
	fields := strings.FieldsFunc(text[:min(len(text), 16)], func(r rune) bool { return r < 'a' || r > 'z' })
	trimmed := strings.TrimLeft(text, " \n")
	for _, word := range controlWords {
		if len(fields) > 0 && fields[0] == word && strings.HasPrefix(trimmed, word) {
			return word
		}
	}
	return ""
}

// actionAt returns the index of the action that holds a byte offset.
func actionAt(actions []action, offset int) int {
	return sort.Search(len(actions), func(i int) bool { return actions[i].end > offset })
}

// region is the body of one template: a whole file, or what stands between
// {{ define }} and its {{ end }}.
type region struct {
	name       string // of the fragment; empty for a whole file
	start, end int
}

// regionsOf finds the bodies of the defines of a fragment file.
func regionsOf(text string, actions []action) []region {
	var regions []region
	depth := 0
	for _, a := range actions {
		switch a.word {
		case "define":
			depth++
			regions = append(regions, region{name: quotedName(text[a.start:a.end]), start: a.end})
		case "if", "range", "with", "block":
			depth++
		case "end":
			depth--
			if depth == 0 && len(regions) > 0 {
				regions[len(regions)-1].end = a.start
			}
		}
	}
	return regions
}

// quotedName returns the first string constant of a define action.
func quotedName(text string) string {
	i := strings.IndexAny(text, "\"`")
	if i < 0 {
		return ""
	}
	name, err := strconv.Unquote(text[i:skipToken(text, i)])
	if err != nil {
		return ""
	}
	return name
}
