// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decodeError is a fault of rendered text.
type decodeError struct {
	line    int    // of the rendered text, 0 if unknown
	path    string // of the field, empty for the whole object
	message string
}

func (e *decodeError) Error() string {
	if e.path == "" {
		return e.message
	}
	return e.path + ": " + e.message
}

// decode reads rendered text as exactly one object. It is stricter than the
// API server's own reader: nothing may depend on which YAML version reads the
// text, and nothing may be null or said twice.
func decode(text []byte) (map[string]any, error) {
	if err := refuseLeaks(text); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, &decodeError{message: "renders nothing but comments and blanks; whether an object is wanted is decided in Go"}
	case err != nil:
		return nil, syntaxError(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, &decodeError{line: more.Line, message: "renders more than one document; a file holds exactly one object"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(err)
	}
	d := nodeDecoder{}
	tree := d.value("", document.Content[0])
	if d.err != nil {
		return nil, d.err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, &decodeError{line: document.Content[0].Line, message: "does not render an object"}
	}
	return object, nil
}

// refuseLeaks finds what text/template prints for values that are not there.
// Every quoting function escapes '<', so that users cannot cause this.
func refuseLeaks(text []byte) error {
	for _, leak := range []string{"<no value>", "<nil>"} {
		if i := bytes.Index(text, []byte(leak)); i >= 0 {
			return &decodeError{line: lineAt(string(text), i), message: "renders " + leak + ": a value is missing; use a typed field"}
		}
	}
	return nil
}

var yamlErrorPattern = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

func syntaxError(err error) error {
	m := yamlErrorPattern.FindStringSubmatch(err.Error())
	if m == nil {
		return &decodeError{message: "is not valid YAML"}
	}
	line, _ := strconv.Atoi(m[1]) // 0 if the parser gave none
	return &decodeError{line: line, message: "renders text that is not valid YAML: " + m[2]}
}

// nodeDecoder turns YAML nodes into what unstructured objects hold. It stops at
// the first fault.
type nodeDecoder struct{ err error }

func (d *nodeDecoder) refuse(path string, node *yaml.Node, format string, args ...any) any {
	if d.err == nil {
		d.err = &decodeError{line: node.Line, path: path, message: fmt.Sprintf(format, args...)}
	}
	return nil
}

func (d *nodeDecoder) value(path string, node *yaml.Node) any {
	if d.err != nil {
		return nil
	}
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return d.refuse(path, node, "anchor or alias; write the value out")
	}
	if node.Style&yaml.TaggedStyle != 0 {
		return d.refuse(path, node, "explicit tag; quote strings and leave tags out")
	}
	switch node.Kind {
	case yaml.MappingNode:
		return d.mapping(path, node)
	case yaml.SequenceNode:
		items := make([]any, 0, len(node.Content))
		for i, item := range node.Content {
			items = append(items, d.value(path+"["+strconv.Itoa(i)+"]", item))
		}
		return items
	default:
		return d.scalar(path, node)
	}
}

func (d *nodeDecoder) mapping(path string, node *yaml.Node) any {
	object := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		keyNode := node.Content[i]
		key, ok := d.value(joinPath(path, "<key>"), keyNode).(string)
		if !ok {
			return d.refuse(path, keyNode, "key is not a string; quote it")
		}
		if _, double := object[key]; double {
			return d.refuse(path, keyNode, "key %s is given twice", shownKey(keyNode))
		}
		valueNode := node.Content[i+1]
		if valueNode.ShortTag() == "!!null" {
			valueNode.Line = keyNode.Line // the parser reports where it noticed
		}
		object[key] = d.value(joinPath(path, shownKey(keyNode)), valueNode)
	}
	return object
}

// shownKey names a key in messages. Only what the template itself spells out is
// shown: a quoted key may be a value.
func shownKey(node *yaml.Node) string {
	if node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return "<quoted key>"
	}
	return node.Value
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

var (
	decimalInteger = regexp.MustCompile(`^(?:0|-?[1-9][0-9]*)$`)
	// sexagesimal numbers are strings for YAML 1.2 and numbers for 1.1.
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$`)
)

// ambiguousWords are booleans for YAML 1.1 and strings for 1.2.
const ambiguousWords = " y n yes no on off "

func (d *nodeDecoder) scalar(path string, node *yaml.Node) any {
	if node.Style != 0 && node.Style != yaml.FlowStyle {
		return node.Value // quoted, or a block scalar
	}
	switch node.ShortTag() {
	case "!!str":
		if strings.Contains(ambiguousWords, " "+strings.ToLower(node.Value)+" ") || sexagesimal.MatchString(node.Value) {
			return d.refuse(path, node, "%s is a boolean or a number to some YAML readers; quote it, or write true, false or digits", node.Value)
		}
		return node.Value
	case "!!bool":
		if node.Value == "true" || node.Value == "false" {
			return node.Value == "true"
		}
	case "!!int":
		if n, err := strconv.ParseInt(node.Value, 10, 64); err == nil && decimalInteger.MatchString(node.Value) {
			return n
		}
	case "!!null":
		return d.refuse(path, node, "value is null; put the key inside the if or range that fills it")
	}
	return d.refuse(path, node, "%s is not plainly a string, an integer, true or false; quote it", node.Value)
}
