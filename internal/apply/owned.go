// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A fieldTree is one node of a managedFields entry in its JSON form: members "f:<name>", list items "k:<keys>" and
// "v:<value>", and "." for the node itself. It doubles as a schema: a node without children is a scalar or an atomic
// list or object, a node with item children is a list merged by key or by value.
type fieldTree map[string]any

const (
	fieldPrefix = "f:"
	keyPrefix   = "k:"
	valuePrefix = "v:"
	selfElement = "."
)

// child returns the sub-tree below one element.
func (t fieldTree) child(element string) (fieldTree, bool) {
	sub, ok := t[element].(map[string]any)
	return sub, ok
}

// leaf reports whether nothing below this node is recorded separately.
func (t fieldTree) leaf() bool {
	for element := range t {
		if element != selfElement {
			return false
		}
	}
	return true
}

// listItem is an item element of a list node with its decoded keys or value.
type listItem struct {
	element string
	decoded any
	used    bool
}

// items returns the item elements with the given prefix, in a stable order.
func (t fieldTree) items(prefix string) []listItem {
	var items []listItem
	for _, element := range slices.Sorted(maps.Keys(t)) {
		text, ok := strings.CutPrefix(element, prefix)
		if !ok {
			continue
		}
		var decoded any
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			continue // not written by an API server; the field then counts as not ours
		}
		items = append(items, listItem{element: element, decoded: decoded})
	}
	return items
}

// ownedMembers compares the members that are wanted or ours and ignores those of others. Members for which skip says
// so are left to another comparison.
func (d *differences) ownedMembers(path string, want, got map[string]any, tree fieldTree, skip func(path string) bool) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		child := joinField(path, name)
		if skip(child) {
			continue
		}
		present, isPresent := got[name]
		sub, ours := tree.child(fieldPrefix + name)
		switch {
		case !isPresent:
			d.add(child, Missing, want[name], nil)
		case !ours:
			d.add(child, Unowned, want[name], present)
		default:
			d.owned(child, want[name], present, sub, skip)
		}
	}
	for _, element := range slices.Sorted(maps.Keys(tree)) {
		name, isField := strings.CutPrefix(element, fieldPrefix)
		if !isField || skip(joinField(path, name)) {
			continue
		}
		if _, wanted := want[name]; wanted {
			continue
		}
		if present, isPresent := got[name]; isPresent {
			d.add(joinField(path, name), Extra, nil, present)
		}
	}
}

// owned compares one value of which the fields in tree are ours.
func (d *differences) owned(path string, want, got any, tree fieldTree, skip func(path string) bool) {
	if !tree.leaf() {
		switch w := want.(type) {
		case map[string]any:
			if g, ok := got.(map[string]any); ok {
				d.ownedMembers(path, w, g, tree, skip)
				return
			}
		case []any:
			if g, ok := got.([]any); ok {
				d.ownedList(path, w, g, tree)
				return
			}
		}
	}
	d.whole(path, want, got)
}

// ownedList compares a list that the server merges item by item.
func (d *differences) ownedList(path string, want, got []any, tree fieldTree) {
	if items := tree.items(keyPrefix); len(items) > 0 {
		d.ownedItems(path, want, got, itemList{tree: tree, items: items, matches: matchesKeys})
		return
	}
	if items := tree.items(valuePrefix); len(items) > 0 {
		d.ownedItems(path, want, got, itemList{tree: tree, items: items, matches: equalValues})
		return
	}
	d.whole(path, want, got)
}

// itemList is what managedFields says about a list merged by keys or by value.
type itemList struct {
	tree    fieldTree
	items   []listItem
	matches func(item, keys any) bool
}

// take finds the recorded item that a wanted item corresponds to and marks it.
func (l itemList) take(item any) (listItem, bool) {
	for i := range l.items {
		if !l.items[i].used && l.matches(item, l.items[i].decoded) {
			l.items[i].used = true
			return l.items[i], true
		}
	}
	return listItem{}, false
}

// index finds the item of a live list that a recorded item stands for.
func (l itemList) index(got []any, item listItem) int {
	return slices.IndexFunc(got, func(candidate any) bool { return l.matches(candidate, item.decoded) })
}

func (d *differences) ownedItems(path string, want, got []any, list itemList) {
	last := -1
	for i, item := range want {
		child := joinIndex(path, i)
		recorded, ours := list.take(item)
		if !ours {
			d.add(child, Unowned, item, nil)
			continue
		}
		at := list.index(got, recorded)
		if at < 0 {
			d.add(child, Missing, item, nil)
			continue
		}
		if at < last {
			d.add(child, Reordered, item, got[at])
		}
		last = max(last, at)
		sub, _ := list.tree.child(recorded.element)
		d.owned(child, item, got[at], sub, skipNothing)
	}
	for _, recorded := range list.items {
		if recorded.used {
			continue
		}
		if at := list.index(got, recorded); at >= 0 {
			d.add(path+"["+recorded.element+"]", Extra, nil, got[at])
		}
	}
}

// matchesKeys reports whether a list item has the given keys. A key that the item leaves out is one that the server
// fills in from a default, so it does not tell items apart.
func matchesKeys(item, keys any) bool {
	members, ok := item.(map[string]any)
	if !ok {
		return false
	}
	wanted, ok := keys.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range wanted {
		if member, has := members[name]; has && !equalValues(member, value) {
			return false
		}
	}
	return true
}

func skipNothing(string) bool { return false }
