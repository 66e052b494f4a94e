// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object parses the JSON of a test case.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return out
}

// found is a difference without its values.
type found struct {
	Path   string
	Reason Reason
}

func foundIn(d []Difference) []found {
	var out []found
	for _, difference := range d {
		out = append(out, found{difference.Path, difference.Reason})
	}
	return out
}

func TestOwnedMembers(t *testing.T) {
	t.Parallel()
	const containers = `{"f:containers":{
		"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}},
		"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:image":{}}}}`
	tests := map[string]struct {
		want, live, ours string
		found            []found
	}{
		"fields of others are ignored": {
			want: `{"a":"1"}`, live: `{"a":"1","b":"2"}`, ours: `{"f:a":{}}`,
		},
		"an absent field is missing": {
			want: `{"a":"1"}`, live: `{}`, ours: `{"f:a":{}}`,
			found: []found{{"a", Missing}},
		},
		"a changed field that is still ours": {
			want: `{"a":"1"}`, live: `{"a":"2"}`, ours: `{"f:a":{}}`,
			found: []found{{"a", Changed}},
		},
		"a field that another manager took is not ours": {
			want: `{"a":"1"}`, live: `{"a":"1"}`, ours: `{}`,
			found: []found{{"a", Unowned}},
		},
		"a field that we applied and no longer want must go": {
			want: `{"m":{"a":"1"}}`, live: `{"m":{"a":"1","b":"2","c":"3"}}`, ours: `{"f:m":{"f:a":{},"f:b":{}}}`,
			found: []found{{"m.b", Extra}},
		},
		"a field that we applied, no longer want and that is gone": {
			want: `{"m":{"a":"1"}}`, live: `{"m":{"a":"1"}}`, ours: `{"f:m":{"f:a":{},"f:b":{}}}`,
		},
		"a whole object that we applied and no longer want must go": {
			want: `{}`, live: `{"m":{"b":"2"}}`, ours: `{"f:m":{".":{},"f:b":{}}}`,
			found: []found{{"m", Extra}},
		},
		"an atomic object is compared as a whole": {
			want: `{"selector":{"a":"1"}}`, live: `{"selector":{"a":"1","b":"2"}}`, ours: `{"f:selector":{}}`,
			found: []found{{"selector.b", Extra}},
		},
		"an atomic list is compared as a whole": {
			want: `{"args":["a"]}`, live: `{"args":["a","b"]}`, ours: `{"f:args":{}}`,
			found: []found{{"args", Changed}},
		},
		"defaults inside a keyed list item are not ours": {
			want: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			live: `{"containers":[{"name":"a","image":"x","pull":"Always"},{"name":"b","image":"y","pull":"Always"}]}`,
			ours: containers,
		},
		"a foreign item of a keyed list is ignored wherever it stands": {
			want: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			live: `{"containers":[{"name":"z"},{"name":"a","image":"x"},{"name":"side"},{"name":"b","image":"y"}]}`,
			ours: containers,
		},
		"a change inside a keyed list item is found": {
			want: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			live: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"evil"}]}`,
			ours: containers, found: []found{{"containers[1].image", Changed}},
		},
		"an unwanted item of ours in a keyed list must go": {
			want: `{"containers":[{"name":"b","image":"y"}]}`,
			live: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			ours: containers, found: []found{{`containers[k:{"name":"a"}]`, Extra}},
		},
		"an emptied keyed list loses all our items": {
			want: `{"containers":[]}`,
			live: `{"containers":[{"name":"a"},{"name":"z"}]}`,
			ours: containers, found: []found{{`containers[k:{"name":"a"}]`, Extra}},
		},
		"a new item of a keyed list is not ours yet": {
			want: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"},{"name":"c"}]}`,
			live: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			ours: containers, found: []found{{"containers[2]", Unowned}},
		},
		"a removed item of a keyed list is missing": {
			want: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			live: `{"containers":[{"name":"a","image":"x"}]}`,
			ours: containers, found: []found{{"containers[1]", Missing}},
		},
		"the order of our items in a keyed list matters": {
			want: `{"containers":[{"name":"b","image":"y"},{"name":"a","image":"x"}]}`,
			live: `{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}`,
			ours: containers, found: []found{{"containers[1]", Reordered}},
		},
		"a key that the server fills in does not tell items apart": {
			want: `{"ports":[{"containerPort":80},{"containerPort":90}]}`,
			live: `{"ports":[{"containerPort":80,"protocol":"TCP"},{"containerPort":90,"protocol":"TCP"}]}`,
			ours: `{"f:ports":{
				"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}},
				"k:{\"containerPort\":90,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}`,
		},
		"items of a set are compared by value": {
			want: `{"finalizers":["a","c"]}`, live: `{"finalizers":["a","b","other"]}`,
			ours:  `{"f:finalizers":{".":{},"v:\"a\"":{},"v:\"b\"":{},"v:\"c\"":{}}}`,
			found: []found{{"finalizers[1]", Missing}, {`finalizers[v:"b"]`, Extra}},
		},
		"an object in place of a list is a change": {
			want: `{"containers":[{"name":"a"}]}`, live: `{"containers":{"name":"a"}}`, ours: containers,
			found: []found{{"containers", Changed}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d differences
			d.ownedMembers("", object(t, tc.want), object(t, tc.live), object(t, tc.ours), skipNothing)
			if diff := cmp.Diff(tc.found, foundIn(d.found)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOwnedMembersSkips(t *testing.T) {
	t.Parallel()
	var d differences
	skip := func(path string) bool { return path == "spec" || path == "metadata.name" }
	d.ownedMembers("",
		object(t, `{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"a":"1"}}`),
		object(t, `{"metadata":{"name":"a","labels":{"x":"z"}},"spec":{"a":"2"}}`),
		object(t, `{"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:a":{},"f:b":{}}}`), skip)
	if diff := cmp.Diff([]found{{"metadata.labels.x", Changed}}, foundIn(d.found)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}
