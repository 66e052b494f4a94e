// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// toYAML writes a value as block-style YAML: keys sorted, every string quoted,
// so that its lines can be indented as a whole. It is the only function that
// accepts JSON text (see [CheckValues]) and writes the structure it describes.
func toYAML(v any) (string, error) {
	tree, err := plain(reflect.ValueOf(v), true)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := writeBlock(&b, tree, 0); err != nil {
		return "", err
	}
	return b.String(), nil
}

// toJSON writes a value as one line of JSON, which is also YAML: keys sorted,
// every string quoted as by quote.
func toJSON(v any) (string, error) {
	tree, err := plain(reflect.ValueOf(v), false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := writeFlow(&b, tree); err != nil {
		return "", err
	}
	return b.String(), nil
}

// plain reduces a value to bool, int64, string, []any and map[string]any.
func plain(v reflect.Value, jsonText bool) (any, error) {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.String:
		if v.Type().Name() != jsonTypeName {
			return v.String(), nil
		}
		if !jsonText {
			return nil, fmt.Errorf("%s is the text of a structure; only toYaml takes it", v.Type())
		}
		return parseJSON(v.String())
	case reflect.Slice:
		items := make([]any, 0, v.Len())
		for i := range v.Len() {
			item, err := plain(v.Index(i), jsonText)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	case reflect.Map:
		if !v.Type().ConvertibleTo(stringMapType) {
			break
		}
		items := make(map[string]any, v.Len())
		for key, value := range v.Seq2() {
			items[key.String()] = value.String()
		}
		return items, nil
	case reflect.Invalid:
		return nil, errors.New("value is nil")
	}
	return nil, fmt.Errorf("%s has no text form; write its fields in the template, or use a string, number, boolean, a list of these or map[string]string", v.Type())
}

// parseJSON reads canonical JSON text. Errors name the offset, not the text.
func parseJSON(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("JSON value is not valid JSON near byte %d", decoder.InputOffset())
	}
	if end := decoder.InputOffset(); strings.TrimSpace(text[end:]) != "" {
		return nil, fmt.Errorf("JSON value has text after its end at byte %d", end)
	}
	return checkJSON(tree)
}

// checkJSON refuses what an object must not hold and turns numbers to int64.
func checkJSON(tree any) (any, error) {
	var err error
	switch node := tree.(type) {
	case nil:
		return nil, errors.New("JSON value contains null; leave the field out")
	case json.Number:
		n, err := strconv.ParseInt(node.String(), 10, 64)
		if err != nil {
			return nil, errors.New("JSON value contains a number that is not a 64-bit integer; use an integer or a string")
		}
		return n, nil
	case []any:
		for i := range node {
			if node[i], err = checkJSON(node[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range node {
			if node[key], err = checkJSON(node[key]); err != nil {
				return nil, err
			}
		}
	}
	return tree, nil
}

// writeBlock writes a non-empty list or map over several lines, anything else
// in one. The first line carries no indentation.
func writeBlock(b *strings.Builder, tree any, indent int) error {
	newline := "\n" + strings.Repeat(" ", indent)
	switch node := tree.(type) {
	case []any:
		if len(node) == 0 {
			break
		}
		for i, item := range node {
			if i > 0 {
				b.WriteString(newline)
			}
			b.WriteString("- ")
			if err := writeBlock(b, item, indent+2); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if len(node) == 0 {
			break
		}
		for i, key := range slices.Sorted(maps.Keys(node)) {
			if i > 0 {
				b.WriteString(newline)
			}
			if err := writeMember(b, key, node[key], indent); err != nil {
				return err
			}
		}
		return nil
	}
	return writeFlow(b, tree)
}

func writeMember(b *strings.Builder, key string, value any, indent int) error {
	quoted, err := quote(key)
	if err != nil {
		return err
	}
	b.WriteString(quoted + ":")
	if isEmptyOrScalar(value) {
		b.WriteByte(' ')
	} else {
		b.WriteString("\n" + strings.Repeat(" ", indent+2))
	}
	return writeBlock(b, value, indent+2)
}

func isEmptyOrScalar(tree any) bool {
	switch node := tree.(type) {
	case []any:
		return len(node) == 0
	case map[string]any:
		return len(node) == 0
	}
	return true
}

// writeFlow writes a tree on one line.
func writeFlow(b *strings.Builder, tree any) error {
	switch node := tree.(type) {
	case bool:
		b.WriteString(strconv.FormatBool(node))
	case int64:
		b.WriteString(strconv.FormatInt(node, 10))
	case string:
		quoted, err := quote(node)
		if err != nil {
			return err
		}
		b.WriteString(quoted)
	case []any:
		b.WriteByte('[')
		for i, item := range node {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := writeFlow(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case map[string]any:
		return writeFlowMap(b, node)
	}
	return nil
}

func writeFlowMap(b *strings.Builder, node map[string]any) error {
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(node)) {
		if i > 0 {
			b.WriteString(", ")
		}
		quoted, err := quote(key)
		if err != nil {
			return err
		}
		b.WriteString(quoted + ": ")
		if err := writeFlow(b, node[key]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
