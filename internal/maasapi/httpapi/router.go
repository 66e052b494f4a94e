// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// router finds the route of a path and a verb. It takes paths as they come: no
// dot segment and no double slash is ever cleaned away, so that a path which
// something in front of us reads differently matches nothing.
type router struct {
	exact    map[string]map[string]*endpoint // Path → verb.
	variable []variablePath
}

type variablePath struct {
	segments []string // A name in braces stands for any segment.
	verbs    map[string]*endpoint
}

func newRouter() *router {
	return &router{exact: map[string]map[string]*endpoint{}}
}

func (t *router) add(e *endpoint) error {
	pattern := e.route.Pattern
	if !strings.HasPrefix(pattern, "/") || strings.HasSuffix(pattern, "/") || e.route.Method == "" || e.route.Handler == nil {
		return fmt.Errorf("route %s %s: it needs a verb, a handler, and a path that begins with a slash and ends without", e.route.Method, pattern)
	}
	verbs := t.verbsOf(pattern)
	if _, taken := verbs[e.route.Method]; taken {
		return errors.New("route " + e.route.Method + " " + pattern + " exists twice")
	}
	verbs[e.route.Method] = e
	return nil
}

func (t *router) verbsOf(pattern string) map[string]*endpoint {
	if !strings.Contains(pattern, "{") {
		if t.exact[pattern] == nil {
			t.exact[pattern] = map[string]*endpoint{}
		}
		return t.exact[pattern]
	}
	segments := strings.Split(pattern[1:], "/")
	for _, known := range t.variable {
		if sameShape(known.segments, segments) {
			return known.verbs
		}
	}
	added := variablePath{segments: segments, verbs: map[string]*endpoint{}}
	t.variable = append(t.variable, added)
	return added.verbs
}

// find returns the endpoint of a request and sets its path values. When there is
// none, it returns the one that the path without its trailing slash has.
func (t *router) find(r *http.Request) (found, withoutSlash *endpoint) {
	path := r.URL.EscapedPath()
	if e := t.lookup(r, path); e != nil {
		return e, nil
	}
	if trimmed, had := strings.CutSuffix(path, "/"); had {
		return nil, t.lookup(r, trimmed)
	}
	return nil, nil
}

func (t *router) lookup(r *http.Request, path string) *endpoint {
	if verbs, found := t.exact[path]; found {
		if e := verbs[r.Method]; e != nil {
			return e
		}
	}
	if !strings.HasPrefix(path, "/") {
		return nil
	}
	if strings.Contains(path, "%") {
		// An escaped letter is the same path; an escaped slash is no separator.
		if plain, err := url.PathUnescape(path); err == nil && !strings.Contains(strings.ToLower(path), "%2f") {
			if verbs, found := t.exact[plain]; found && verbs[r.Method] != nil {
				return verbs[r.Method]
			}
		}
	}
	for _, candidate := range t.variable {
		if e := candidate.verbs[r.Method]; e != nil && candidate.match(r, path[1:]) {
			return e
		}
	}
	return nil
}

// match compares segment by segment, without the leading slash, and sets the path
// values when all fit.
func (v variablePath) match(r *http.Request, path string) bool {
	if strings.Count(path, "/") != len(v.segments)-1 {
		return false
	}
	var values [4]string
	count, rest := 0, path
	for _, want := range v.segments {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		segment, err := url.PathUnescape(segment)
		if err != nil {
			return false
		}
		if !isVariable(want) {
			if segment != want {
				return false
			}
			continue
		}
		if segment == "" || segment == "." || segment == ".." || count == len(values) {
			return false
		}
		values[count] = segment
		count++
	}
	count = 0
	for _, want := range v.segments {
		if isVariable(want) {
			r.SetPathValue(want[1:len(want)-1], values[count])
			count++
		}
	}
	return true
}

func isVariable(segment string) bool {
	return strings.HasPrefix(segment, "{")
}

func sameShape(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if isVariable(a[i]) != isVariable(b[i]) || (!isVariable(a[i]) && a[i] != b[i]) {
			return false
		}
	}
	return true
}

// label is how metrics and spans call a pattern: "/v1/api-keys/:id".
func label(pattern string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(pattern)
}
