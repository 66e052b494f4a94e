// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lint checks every parsed file and returns the include calls of every body.
func (lib *library) lint(entries map[ID]Entry, rules *lintRules) (map[string][]includeCall, error) {
	calls := map[string][]includeCall{}
	errs := make([]error, 0, len(lib.sources))
	for _, src := range lib.sources {
		r := &report{file: src.file, text: src.text}
		actions := scanActions(src.text)
		bodies := []region{{end: len(src.text)}}
		if src.isFragments() {
			bodies = regionsOf(src.text, actions)
		}
		for _, body := range bodies {
			name := body.name
			if name == "" {
				name = string(idOf(src.file))
			}
			calls[name] = lintBody(r, rules, src, actions, body)
		}
		if id := idOf(src.file); id != "" {
			checkHead(r, src.trees[string(id)].Root, entries[id].GVK)
		}
		errs = append(errs, r.err())
	}
	return calls, joinSorted(errs...)
}

// lintBody checks one object or one fragment.
func lintBody(r *report, rules *lintRules, src *source, actions []action, body region) []includeCall {
	l := &linter{report: r, rules: rules, dialect: dialectObject, emissions: map[int]emission{}}
	name := string(idOf(src.file))
	if src.isFragments() {
		name, l.dialect = body.name, dialectFragment
		if isCEL(name) {
			l.dialect = dialectCEL
		}
	}
	tree := src.trees[name]
	if tree == nil {
		r.atOffset(body.start, "fragment %q is empty", name)
		return nil
	}
	l.list(tree.Root)
	if l.dialect != dialectCEL {
		byAction := make(map[int]emission, len(l.emissions))
		for offset, emitted := range l.emissions {
			byAction[actionAt(actions, offset)] = emitted
		}
		checkLayout(r, actions, byAction, body)
	}
	return l.calls
}

var (
	apiVersionLine = regexp.MustCompile(`(?m)^apiVersion: *"?([^"\s]+)"? *$`)
	kindLine       = regexp.MustCompile(`(?m)^kind: *"?([^"\s]+)"? *$`)
	metadataLine   = regexp.MustCompile(`(?m)^metadata:$`)
)

// checkHead makes sure that the object's kind and metadata stand as literal
// text outside every branch, and that the kind is the one of the table.
func checkHead(r *report, root *parse.ListNode, want schema.GroupVersionKind) {
	var head strings.Builder
	for _, node := range root.Nodes {
		if node, ok := node.(*parse.TextNode); ok {
			head.Write(node.Text)
		}
	}
	text := head.String()
	if !metadataLine.MatchString(text) {
		r.atLine(0, "metadata: must stand outside every if, range and with; whether an object is wanted is decided in Go")
	}
	if want.Kind == "" {
		return // no table entry, which is reported elsewhere
	}
	for _, head := range []struct {
		field, want string
		pattern     *regexp.Regexp
	}{
		{"apiVersion", want.GroupVersion().String(), apiVersionLine},
		{"kind", want.Kind, kindLine},
	} {
		switch found := head.pattern.FindStringSubmatch(text); {
		case found == nil:
			r.atLine(0, "%s must stand as literal text outside every if, range and with: %s: %s", head.field, head.field, head.want)
		case found[1] != head.want:
			r.atLine(0, "%s is %s, but the table entry says %s", head.field, found[1], head.want)
		}
	}
}

// maxIncludeDepth bounds how deep fragments include each other.
const maxIncludeDepth = 8

// checkCalls makes sure that every included fragment exists, that none includes
// itself or is nested too deep, and that none is left unused: an unused one
// would never be type-checked. Because names are literal this holds for every
// rendering, so that no depth needs to be counted then.
func (lib *library) checkCalls(entries map[ID]Entry, calls map[string][]includeCall) error {
	g := callGraph{lib: lib, calls: calls, depths: map[string]int{}, used: map[string]bool{}}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		g.depth(string(id), nil)
	}
	for _, name := range slices.Sorted(maps.Keys(lib.trees)) {
		if src := lib.origin[name]; src.isFragments() && !g.used[name] {
			g.errs = append(g.errs, &Error{File: src.file, Message: "fragment \"" + name + "\" is never included; remove it"})
		}
	}
	return joinSorted(g.errs...)
}

type callGraph struct {
	lib    *library
	calls  map[string][]includeCall
	depths map[string]int
	used   map[string]bool
	errs   []error
}

// depth returns how many levels of includes a body has.
func (g *callGraph) depth(name string, open []string) int {
	if depth, known := g.depths[name]; known {
		return depth
	}
	src := g.lib.origin[name]
	if src == nil {
		return 0 // a table entry without a file, which is reported elsewhere
	}
	open = append(open, name)
	depth := 0
	for _, call := range g.calls[name] {
		r := report{file: src.file, text: src.text}
		g.used[call.name] = true
		target := g.lib.origin[call.name]
		switch {
		case target == nil:
			r.atOffset(call.offset, "fragment %q is not defined; define it in %s/*%s", call.name, fragmentDir, fragmentSuffix)
		case !target.isFragments():
			r.atOffset(call.offset, "%q is a whole object; only fragments can be included", call.name)
		case slices.Contains(open, call.name):
			r.atOffset(call.offset, "fragment %q includes itself", call.name)
		default:
			depth = max(depth, 1+g.depth(call.name, open))
			if depth > maxIncludeDepth {
				r.atOffset(call.offset, "fragments are nested deeper than %d; flatten them", maxIncludeDepth)
			}
		}
		g.errs = append(g.errs, r.err())
	}
	g.depths[name] = depth
	return depth
}
