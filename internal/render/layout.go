// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"regexp"
	"strings"
)

// layout checks how a body of YAML text is laid out, over all branches at
// once: blocks that are valid alone and break together are found before any
// combination is rendered. Every level is indented by two, list items stand
// under their key, control actions stand alone on their line, and an emitting
// action is a whole key, a whole value or a block at its own column.
type layout struct {
	*report
	actions   []action
	emissions map[int]emission // by index of the action
	levels    []level
	scalarAt  int // column of the key of an open block scalar, or -1
}

// level is an open key or list item.
type level struct {
	column int
	item   bool // a list item, not a key
	block  bool // lines placed by nindent, which may be either
	filled bool // a key with a value on its line
}

// textLine is a line of the source with every action replaced by one mark.
type textLine struct {
	text    string
	number  int
	actions []int
}

const (
	mark  = "\x00"
	inset = 2
)

var (
	keyPattern     = regexp.MustCompile(`^(?:[A-Za-z0-9_./-]+|"[^"\x00]*"|'[^'\x00]*'|\x00):(?: +|$)`)
	scalarHeader   = regexp.MustCompile(`^[|>][+-]?$`)
	commentPattern = regexp.MustCompile(`(?:^| +)#[^\x00]*$`)
)

// checkLayout checks one body.
func checkLayout(r *report, actions []action, emissions map[int]emission, body region) {
	l := &layout{report: r, actions: actions, emissions: emissions, scalarAt: -1}
	for _, line := range linesOf(r.text, actions, body) {
		l.line(line)
	}
}

// linesOf splits a body into lines. An action that spans lines belongs to the
// line it begins on.
func linesOf(text string, actions []action, body region) []textLine {
	var lines []textLine
	var b strings.Builder
	current := textLine{number: lineAt(text, body.start)}
	flush := func(next int) {
		current.text = b.String()
		lines = append(lines, current)
		b.Reset()
		current = textLine{number: lineAt(text, next)}
	}
	index := actionAt(actions, body.start)
	for i := body.start; i < body.end; {
		switch {
		case index < len(actions) && i == actions[index].start:
			b.WriteString(mark)
			current.actions = append(current.actions, index)
			i = actions[index].end
			index++
		case text[i] == '\n':
			i++
			flush(i)
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	flush(body.end)
	return lines
}

func (l *layout) fault(line textLine, format string, args ...any) {
	l.atLine(line.number, format, args...)
}

func (l *layout) line(line textLine) {
	content := strings.TrimSpace(line.text)
	if content == "" || !l.trims(line, content) {
		return
	}
	if content == mark && !l.emits(line.actions[0]) {
		return // a control action, a declaration or a comment
	}
	if l.hasControl(line) {
		l.fault(line, "if, range, with, else and end must stand alone on their line; for a value choose in Go, or use ternary")
		return
	}
	column := len(line.text) - len(strings.TrimLeft(line.text, " "))
	if l.scalarAt >= 0 && column > l.scalarAt {
		l.scalarText(line, content, column)
		return
	}
	l.scalarAt = -1
	l.yamlLine(line, content, column)
}

// yamlLine checks a line outside of block scalars.
func (l *layout) yamlLine(line textLine, content string, column int) {
	switch {
	case content == mark:
		l.loneEmission(line, column)
	case strings.HasPrefix(content, "#"):
		if strings.Contains(content, mark) {
			l.fault(line, "an action in a YAML comment; use {{/* */}}")
		}
	case column == 0 && (strings.HasPrefix(content, "---") || strings.HasPrefix(content, "...") || content[0] == '%'):
		l.fault(line, "document marker; a file holds exactly one object")
	default:
		l.node(line, column, line.text[column:])
	}
}

// trims checks the trim markers: {{- only eats the line break before a line of
// its own, and -}} would eat the indentation of the next line.
func (l *layout) trims(line textLine, content string) bool {
	for i, index := range line.actions {
		a := l.actions[index]
		if a.rightTrim {
			l.fault(line, "-}} eats the indentation of the next line; trim with {{- only")
			return false
		}
		if a.leftTrim && (i > 0 || !strings.HasPrefix(content, mark)) {
			l.fault(line, "{{- eats the text before it; use it only at the beginning of a line")
			return false
		}
	}
	return true
}

func (l *layout) emits(index int) bool {
	e, ok := l.emissions[index]
	return ok && e.form != formNothing
}

func (l *layout) hasControl(line textLine) bool {
	for _, index := range line.actions {
		if l.actions[index].word != "" && l.actions[index].word != commentWord {
			return true
		}
	}
	return false
}

// scalarText checks a line inside a block scalar, where only blocks have a
// column to keep.
func (l *layout) scalarText(line textLine, content string, column int) {
	for _, index := range line.actions {
		if e := l.emissions[index]; e.form == formBlock && (content != mark || e.column != column) {
			l.fault(line, "nindent %d must stand alone on its line at column %d; it stands at column %d", e.column, e.column, column)
		}
	}
}

// loneEmission checks an action that is alone on its line.
func (l *layout) loneEmission(line textLine, column int) {
	e := l.emissions[line.actions[0]]
	if e.form != formBlock {
		l.fault(line, "a value on a line of its own; write it behind its key or list item")
		return
	}
	if e.column != column {
		l.fault(line, "nindent %d stands at column %d; the two must be equal", e.column, column)
		return
	}
	l.enter(line, level{column: column, block: true})
}

// node checks a line that holds a key, a list item or both.
func (l *layout) node(line textLine, column int, rest string) {
	item := false
	for strings.HasPrefix(rest, "- ") {
		item = true
		if !l.enter(line, level{column: column, item: true}) {
			return
		}
		rest = rest[inset:]
		column += inset
	}
	if key := keyPattern.FindString(rest); key != "" {
		value := l.value(line, rest[len(key):])
		if l.enter(line, level{column: column, filled: value != ""}) && scalarHeader.MatchString(value) {
			l.scalarAt = column
		}
		return
	}
	if !item {
		l.fault(line, "neither a key, a list item nor an action; write long text as a block scalar (key: |)")
		return
	}
	value := l.value(line, rest)
	if value == "" {
		l.fault(line, "empty list item")
	}
	if scalarHeader.MatchString(value) {
		l.scalarAt = column - inset
	}
}

// value checks what stands behind a key or a dash and returns it without a
// trailing comment.
func (l *layout) value(line textLine, text string) string {
	if text != "" && text[0] != '"' && text[0] != '\'' {
		text = commentPattern.ReplaceAllString(text, "")
	}
	text = strings.TrimSpace(text)
	switch {
	case text == mark:
		l.scalarOnly(line)
	case strings.Contains(text, mark):
		l.fault(line, "an action must be the whole value; build the text with quote (printf ...)")
	case text == "":
	case strings.ContainsRune("&*!", rune(text[0])):
		l.fault(line, "anchor, alias or tag; write the value out")
	case strings.ContainsRune("[{", rune(text[0])) && !strings.ContainsRune("]}", rune(text[len(text)-1])),
		strings.ContainsRune(`"'`, rune(text[0])) && (len(text) == 1 || text[len(text)-1] != text[0]):
		l.fault(line, "value does not end on its line; write long text as a block scalar (key: |)")
	}
	return text
}

// scalarOnly refuses blocks where one value is wanted.
func (l *layout) scalarOnly(line textLine) {
	for _, index := range line.actions {
		if l.emissions[index].form == formBlock {
			l.fault(line, "nindent must stand alone on its line, with {{- at the column it names")
		}
	}
}

// enter opens a level and closes those it ends. It reports whether the column
// is right.
func (l *layout) enter(line textLine, next level) bool {
	for len(l.levels) > 0 && l.levels[len(l.levels)-1].column >= next.column {
		last := l.levels[len(l.levels)-1]
		l.levels = l.levels[:len(l.levels)-1]
		if last.column == next.column && last.item != next.item && !last.block && !next.block {
			l.fault(line, "list items and keys at the same column %d; indent list items by two under their key", next.column)
			return false
		}
	}
	want, under := 0, ""
	if len(l.levels) > 0 {
		parent := l.levels[len(l.levels)-1]
		if parent.filled {
			l.fault(line, "indented under a key that already has a value")
			return false
		}
		want, under = parent.column+inset, fmt.Sprintf(" under column %d", parent.column)
	}
	if next.column != want {
		l.fault(line, "stands at column %d, want column %d%s; indent every level by two", next.column, want, under)
		return false
	}
	l.levels = append(l.levels, next)
	return true
}
