// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"
)

// explain turns a fault of a rendering into an error that names the place in
// the sources.
func (e *Engine) explain(r Request, err error) error {
	if fault, ok := errors.AsType[*decodeError](err); ok {
		result := &Error{ID: r.ID, File: r.ID.File(), Message: fault.Error()}
		if file, line := e.trace(r, fault.line); line > 0 {
			result.File, result.Line = file, line
		}
		return result
	}
	if errors.Is(err, errTooLarge) {
		return &Error{ID: r.ID, File: r.ID.File(), Err: errTooLarge, Message: "rendering stopped"}
	}
	return e.explainExec(r.ID, err.Error())
}

var execErrorPattern = regexp.MustCompile(`^template: ([^:]+):(\d+):\d+: executing "[^"]*" at <(?s:(.*?))>: (?s:(.*))$`)

// explainExec takes apart the message of the template package, which nests
// once per include.
func (e *Engine) explainExec(id ID, text string) error {
	result := &Error{ID: id, File: id.File()}
	var path []string
	for {
		m := execErrorPattern.FindStringSubmatch(text)
		if m == nil {
			break
		}
		if result.Line > 0 {
			path = append(path, fmt.Sprintf("%s line %d", result.File, result.Line))
		}
		result.File = m[1]
		if src, ok := e.lib.origin[m[1]]; ok {
			result.File = src.file
		}
		result.Line, _ = strconv.Atoi(m[2]) // the pattern admits only digits
		text = m[4]
		if rest, nested := strings.CutPrefix(text, "error calling include: "); nested {
			text = rest
			continue
		}
		result.Message = m[3] + ": "
	}
	result.Message += text
	if len(path) > 0 {
		result.Message += fmt.Sprintf(" (included from %s)", strings.Join(path, ", "))
	}
	return result
}

// A traced template writes in front of every line of its own text where that
// line comes from. Rendering once more with traced templates tells which source
// line is behind a line of rendered text.
const (
	traceStart = "\x01"
	traceEnd   = "\x02"
	// traceGrowth is how much larger than the original a traced text may be.
	traceGrowth = 32
)

var tracePattern = regexp.MustCompile(traceStart + `([^` + traceEnd + `]*):(\d+)` + traceEnd)

// traceSet returns the traced templates, or nil if they cannot be built.
func (lib *library) traceSet(images map[string]string, limit int) *templateSet {
	trees := make(map[string]*parse.Tree, len(lib.trees))
	for name, tree := range lib.trees {
		trees[name] = tree.Copy()
		traceList(trees[name].Root, lib.origin[name])
	}
	set, err := newTemplateSet(trees, images, limit*traceGrowth)
	if err != nil {
		return nil // the message then goes without a line
	}
	return set
}

func traceList(list *parse.ListNode, src *source) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			node.Text = traceText(node, src)
		case *parse.IfNode:
			traceBranch(&node.BranchNode, src)
		case *parse.WithNode:
			traceBranch(&node.BranchNode, src)
		case *parse.RangeNode:
			traceBranch(&node.BranchNode, src)
		}
	}
}

func traceBranch(node *parse.BranchNode, src *source) {
	traceList(node.List, src)
	traceList(node.ElseList, src)
}

func traceText(node *parse.TextNode, src *source) []byte {
	var traced []byte
	line := lineAt(src.text, int(node.Pos))
	for i, part := range bytes.SplitAfter(node.Text, []byte("\n")) {
		content := bytes.TrimLeft(part, " ")
		traced = append(traced, part[:len(part)-len(content)]...)
		if len(bytes.TrimSpace(content)) > 0 {
			traced = fmt.Appendf(traced, "%s%s:%d%s", traceStart, src.file, line+i, traceEnd)
		}
		traced = append(traced, content...)
	}
	return traced
}

// trace returns the source of a line of rendered text.
func (e *Engine) trace(r Request, line int) (file string, sourceLine int) {
	set := e.traced()
	if line == 0 || set == nil {
		return "", 0
	}
	err := set.execute(string(r.ID), r.Values, func(text []byte) error {
		lines := bytes.Split(text, []byte("\n"))
		for i := min(line, len(lines)) - 1; i >= 0; i-- {
			found := tracePattern.FindSubmatch(lines[i])
			if found == nil {
				continue // lines placed by nindent, which belong to the key above
			}
			file = string(found[1])
			sourceLine, _ = strconv.Atoi(string(found[2])) // the pattern admits only digits
			return nil
		}
		return nil
	})
	if err != nil {
		return "", 0
	}
	return file, sourceLine
}
