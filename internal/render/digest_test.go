// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDigestsFollowEverythingATemplateIncludes(t *testing.T) {
	t.Parallel()
	const body = "data:\n  {{ include \"outer\" . | nindent 2 }}\n"
	const outer = "{{ define \"outer\" }}\n{{ include \"inner\" . | nindent 0 }}\n{{ end }}\n"
	const inner = "{{ define \"inner\" }}\nkey: {{ .Text | quote }}\n{{ end }}\n"
	digest := func(body, outer, inner string) string {
		t.Helper()
		engine, err := New(files(body, "outer.tpl", outer, "inner.tpl", inner), demoTable())
		if err != nil {
			t.Fatalf("New() error = %v", err)
		}
		return engine.Digests()[demoID]
	}
	first := digest(body, outer, inner)
	if again := digest(body, outer, inner); again != first {
		t.Errorf("digest = %s, then %s", first, again)
	}
	for name, other := range map[string]string{
		"its own file":                digest(body+"other: 1\n", outer, inner),
		"a fragment":                  digest(body, outer+"\n", inner),
		"a fragment of that fragment": digest(body, outer, strings.Replace(inner, "key:", "kee:", 1)),
	} {
		if other == first {
			t.Errorf("a change of %s leaves the digest", name)
		}
	}
}

func TestATransformIsHeldToTheIdentity(t *testing.T) {
	t.Parallel()
	render := func(change Transform) (*unstructured.Unstructured, error) {
		t.Helper()
		engine, err := New(files("data: {}\n"), demoTable(), WithTransform(change))
		if err != nil {
			t.Fatalf("New() error = %v", err)
		}
		return engine.Render(demoRequest(demoValues{}))
	}
	object, err := render(func(id ID, object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, string(id), "data", "by")
	})
	if err != nil {
		t.Fatalf("Render() error = %v", err)
	}
	if by, _, _ := unstructured.NestedString(object.Object, "data", "by"); by != string(demoID) {
		t.Errorf("data.by = %q, want the template's id", by)
	}
	if _, err := render(func(_ ID, object *unstructured.Unstructured) error { object.SetName("two"); return nil }); err == nil {
		t.Error("a transform may rename the object")
	}
	boom := errors.New("boom")
	var fault *Error
	if _, err := render(func(ID, *unstructured.Unstructured) error { return boom }); !errors.Is(err, boom) || !errors.As(err, &fault) || fault.ID != demoID {
		t.Errorf("Render() error = %v, want boom under the template's id", err)
	}
}
