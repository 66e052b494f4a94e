// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// absent is the value of a field that is left out.
type absent struct{}

// y is a value written as YAML.
func y(text string) any {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return value
}

// with returns a copy of an object in which the field has the value. Missing parents
// of the field are added.
func with(object map[string]any, field string, value any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	put(object, steps(field), value)
	return object
}

// steps splits "a.b[0].c" into "a", "b", 0, "c".
func steps(field string) []any {
	var list []any
	for step := range strings.SplitSeq(strings.NewReplacer("[", ".", "]", "").Replace(field), ".") {
		if index, err := strconv.Atoi(step); err == nil {
			list = append(list, index)
		} else {
			list = append(list, step)
		}
	}
	return list
}

func put(parent any, path []any, value any) {
	last := len(path) == 1
	switch parent := parent.(type) {
	case map[string]any:
		name := path[0].(string)
		switch _, leaveOut := value.(absent); {
		case last && leaveOut:
			delete(parent, name)
		case last:
			parent[name] = value
		default:
			if parent[name] == nil {
				parent[name] = map[string]any{}
			}
			put(parent[name], path[1:], value)
		}
	case []any:
		if index := path[0].(int); last {
			parent[index] = value
		} else {
			put(parent[index], path[1:], value)
		}
	default:
		panic(fmt.Sprintf("no object or list to put %v into", path))
	}
}

// get returns the value of a field, nil if there is none.
func get(object any, field string) any {
	for _, step := range steps(field) {
		switch parent := object.(type) {
		case map[string]any:
			name, ok := step.(string)
			if !ok {
				return nil
			}
			object = parent[name]
		case []any:
			index, ok := step.(int)
			if !ok || index >= len(parent) {
				return nil
			}
			object = parent[index]
		default:
			return nil
		}
	}
	return object
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// schemaPath turns the path of a field into the path of its schema.
func schemaPath(field string) string { return indexes.ReplaceAllString(field, "[]") }

// firstField returns the path and value of the first field of an object that a schema
// path applies to.
func firstField(object map[string]any, path string) (field string, value any) {
	before, after, more := strings.Cut(path, "[]")
	if !more {
		return path, get(object, path)
	}
	list, _ := get(object, before).([]any)
	for i := range list {
		field, value = firstField(object, fmt.Sprintf("%s[%d]%s", before, i, after))
		if value != nil {
			break
		}
	}
	return field, value
}
