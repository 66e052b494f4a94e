// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// leaf is one text in a value.
type leaf struct {
	path  string // without indices, as options name it
	name  string // with indices and keys
	isKey bool   // of a map
	steps []step
}

// step leads from a value to one of its parts. The last step of a leaf that is
// a map key names the key to replace.
type step struct {
	index int    // of a field or a list item
	key   string // of a map
}

// leavesOf lists the texts of a value. Text of a named type is the text of a
// structure and is left out.
func leavesOf(values any) []leaf {
	var leaves []leaf
	collect(reflect.ValueOf(values), leaf{}, &leaves)
	return leaves
}

func collect(v reflect.Value, at leaf, leaves *[]leaf) {
	switch v.Kind() {
	case reflect.String:
		if v.Type().PkgPath() == "" {
			*leaves = append(*leaves, at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if at.path != "" {
				name = "." + name
			}
			collect(v.Field(i), at.down(name, name, step{index: i}), leaves)
		}
	case reflect.Slice:
		for i := range v.Len() {
			collect(v.Index(i), at.down("[]", fmt.Sprintf("[%d]", i), step{index: i}), leaves)
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			next := step{key: key.String()}
			collect(v.MapIndex(key), at.down("{}", "{"+key.String()+"}", next), leaves)
			keyLeaf := at.down("{key}", "{key "+key.String()+"}", next)
			keyLeaf.isKey = true
			*leaves = append(*leaves, keyLeaf)
		}
	}
}

func (l leaf) down(path, name string, next step) leaf {
	return leaf{path: l.path + path, name: l.name + name, steps: append(slices.Clone(l.steps), next)}
}

// with returns a copy of the values in which the leaf has another text.
func (l leaf) with(values any, text string) any {
	return replace(reflect.ValueOf(values), l.steps, l.isKey, text).Interface()
}

// replace copies what lies on the way to the leaf.
func replace(v reflect.Value, steps []step, isKey bool, text string) reflect.Value {
	if len(steps) == 0 {
		return reflect.ValueOf(text)
	}
	next, rest := steps[0], steps[1:]
	switch v.Kind() {
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		c.Field(next.index).Set(replace(v.Field(next.index), rest, isKey, text))
		return c
	case reflect.Slice:
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		c.Index(next.index).Set(replace(v.Index(next.index), rest, isKey, text))
		return c
	default: // a map, by the contract of values
		c := reflect.MakeMap(v.Type())
		for key, value := range v.Seq2() {
			c.SetMapIndex(key, value)
		}
		key := reflect.ValueOf(next.key)
		if isKey {
			c.SetMapIndex(key, reflect.Value{})
			c.SetMapIndex(reflect.ValueOf(text), v.MapIndex(key))
		} else {
			c.SetMapIndex(key, reflect.ValueOf(text))
		}
		return c
	}
}
