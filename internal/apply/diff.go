// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Reason says in which way one field of the live object differs from the desired one.
type Reason string

const (
	// Missing is a desired field that the live object lacks.
	Missing Reason = "Missing"
	// Changed is a field with another value.
	Changed Reason = "Changed"
	// Extra is a field that must not be there: unwanted in a protected sub-tree, or ours from an earlier apply.
	Extra Reason = "Extra"
	// Unowned is a desired field that is present but not recorded as ours.
	Unowned Reason = "Unowned"
	// Reordered is a list item that stands before an item that should follow it.
	Reordered Reason = "Reordered"
)

// Difference is one field in which live and desired object differ. Want and Got may hold secrets: print the path only.
type Difference struct {
	Path   string
	Reason Reason
	Want   any
	Got    any
}

// differences collects what a comparison finds, in a stable order.
type differences struct {
	found []Difference
}

func (d *differences) add(path string, reason Reason, want, got any) {
	d.found = append(d.found, Difference{Path: path, Reason: reason, Want: want, Got: got})
}

// wholeMembers compares two objects member by member; a member of only one of them is a difference.
func (d *differences) wholeMembers(path string, want, got map[string]any) {
	names := make(map[string]struct{}, len(want))
	for name := range want {
		names[name] = struct{}{}
	}
	for name := range got {
		names[name] = struct{}{}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.wholeMember(joinField(path, name), name, want, got)
	}
}

// wholeMember compares the member called name of two objects.
func (d *differences) wholeMember(path, name string, want, got map[string]any) {
	wanted, isWanted := want[name]
	present, isPresent := got[name]
	switch {
	case isWanted && isPresent:
		d.whole(path, wanted, present)
	case isWanted:
		d.add(path, Missing, wanted, nil)
	case isPresent:
		d.add(path, Extra, nil, present)
	}
}

// whole compares two values completely.
func (d *differences) whole(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.wholeMembers(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				d.whole(joinIndex(path, i), w[i], g[i])
			}
			return
		}
	default:
		if equalScalars(want, got) {
			return
		}
	}
	d.add(path, Changed, want, got)
}

// equalScalars compares strings, booleans, null and numbers; a number equals its other Go representation.
func equalScalars(a, b any) bool {
	switch a.(type) {
	case nil, string, bool, int64, float64:
	default:
		return false
	}
	switch b.(type) {
	case nil, string, bool, int64, float64:
	default:
		return false
	}
	if a == b {
		return true
	}
	return equalNumbers(a, b) || equalNumbers(b, a)
}

// equalNumbers compares an integer with a float.
func equalNumbers(a, b any) bool {
	i, isInt := a.(int64)
	f, isFloat := b.(float64)
	return isInt && isFloat && float64(i) == f && int64(f) == i
}

// equalValues reports whether two JSON values are the same.
func equalValues(a, b any) bool {
	var d differences
	d.whole("", a, b)
	return len(d.found) == 0
}

// joinField extends a path by a member name; names that would make it ambiguous are quoted.
func joinField(path, name string) string {
	if strings.ContainsAny(name, ".[]/\"") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// joinIndex extends a path by a list index.
func joinIndex(path string, index int) string {
	return path + "[" + strconv.Itoa(index) + "]"
}
