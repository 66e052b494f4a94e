// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rendertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
)

// arrival predicts an object from the one rendered with the marker: every
// marker in it gives way to the text.
type arrival struct{ text string }

// expect returns the predicted tree. Where the marker stands in a CEL literal,
// or might, the actual tree tells which spelling the template chose; a spelling
// that does not read back as the text is a mismatch.
func (a arrival) expect(path string, harmless, actual any) (want any, mismatch string) {
	switch node := harmless.(type) {
	case map[string]any:
		other, _ := actual.(map[string]any)
		object := make(map[string]any, len(node))
		for _, key := range slices.Sorted(maps.Keys(node)) {
			newKey := strings.ReplaceAll(key, marker, a.text)
			value, mismatch := a.expect(path+"."+key, node[key], other[newKey])
			if mismatch != "" {
				return nil, mismatch
			}
			object[newKey] = value
		}
		return object, ""
	case []any:
		other, _ := actual.([]any)
		items := make([]any, 0, len(node))
		for i, item := range node {
			var actualItem any
			if i < len(other) {
				actualItem = other[i]
			}
			value, mismatch := a.expect(path+"["+strconv.Itoa(i)+"]", item, actualItem)
			if mismatch != "" {
				return nil, mismatch
			}
			items = append(items, value)
		}
		return items, ""
	case string:
		return a.expectText(path, node, actual)
	default:
		return harmless, ""
	}
}

func (a arrival) expectText(path, harmless string, actual any) (want any, mismatch string) {
	if !strings.Contains(harmless, marker) {
		return harmless, ""
	}
	if !utf8.ValidString(a.text) {
		return nil, path + " holds text that is not valid UTF-8, which must be refused"
	}
	plain := strings.ReplaceAll(harmless, marker, a.text)
	literal := plain
	if quoted, err := celtext.String(a.text); err == nil {
		literal = strings.ReplaceAll(harmless, marker, quoted[1:len(quoted)-1])
	}
	switch {
	case inLiteral(harmless) && actual == any(literal), !inLiteral(harmless) && actual == any(plain):
		return actual, ""
	case inLiteral(harmless):
		return nil, fmt.Sprintf("%s is %q, want %q: the text stands between quotes and must be escaped as celString does", path, actual, literal)
	}
	return nil, fmt.Sprintf("%s is %q, want %q", path, actual, plain)
}

// inLiteral tells whether the first marker stands between quotes.
func inLiteral(text string) bool {
	var open byte
	for i := range strings.Index(text, marker) {
		switch c := text[i]; {
		case open == 0 && (c == '"' || c == '\''):
			open = c
		case c == open && (i == 0 || text[i-1] != '\\'):
			open = 0
		}
	}
	return open != 0
}

// SameStructure compares the identities of two objects, and all but the texts
// of what they say.
func SameStructure(want, got *unstructured.Unstructured) error {
	if diff := cmp.Diff(skeleton(want.Object), skeleton(got.Object)); diff != "" {
		return fmt.Errorf("changes the structure (-want +got):\n%s", diff)
	}
	for _, identity := range []struct{ want, got string }{
		{want.GroupVersionKind().String(), got.GroupVersionKind().String()},
		{want.GetNamespace(), got.GetNamespace()},
		{want.GetName(), got.GetName()},
	} {
		if identity.want != identity.got {
			return fmt.Errorf("changes the identity from %q to %q", identity.want, identity.got)
		}
	}
	return nil
}

// skeleton replaces every text by its type.
func skeleton(tree any) any {
	switch node := tree.(type) {
	case map[string]any:
		object := make(map[string]any, len(node))
		for key, value := range node {
			object[key] = skeleton(value)
		}
		return object
	case []any:
		items := make([]any, 0, len(node))
		for _, item := range node {
			items = append(items, skeleton(item))
		}
		return items
	case string:
		return "text"
	default:
		return node
	}
}
