// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// applied is what our apply requests own.
func applied(obj *unstructured.Unstructured) string {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == v1alpha1.FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply {
			return string(entry.FieldsV1.GetRawBytes())
		}
	}
	return ""
}

// entry is one entry of managedFields whose manager owns a label and a field of the spec.
func entry(manager, operation, subresource string) map[string]any {
	e := map[string]any{
		"manager": manager, "operation": operation,
		"fieldsV1": map[string]any{
			"f:metadata": map[string]any{"f:labels": map[string]any{"f:app": map[string]any{}}},
			"f:spec":     map[string]any{"f:rules": map[string]any{}},
		},
	}
	if subresource != "" {
		e["subresource"] = subresource
	}
	return e
}

func TestTrim(t *testing.T) {
	t.Parallel()
	const owner = "us"
	tests := map[string]struct {
		apiVersion, kind string
		entry            map[string]any
		want             map[string]any
	}{
		"our record of a protected tree goes, and only that": {
			"kuadrant.io/v1", "AuthPolicy", entry(owner, "Apply", ""),
			map[string]any{"f:metadata": map[string]any{"f:labels": map[string]any{"f:app": map[string]any{}}}, "f:spec": map[string]any{}},
		},
		"the record of another manager stays": {
			"kuadrant.io/v1", "AuthPolicy", entry("kubectl", "Apply", ""), entry("", "", "")["fieldsV1"].(map[string]any),
		},
		"the record of updates under our name stays": {
			"kuadrant.io/v1", "AuthPolicy", entry(owner, "Update", ""), entry("", "", "")["fieldsV1"].(map[string]any),
		},
		"the record of a sub-resource stays": {
			"kuadrant.io/v1", "AuthPolicy", entry(owner, "Apply", "status"), entry("", "", "")["fieldsV1"].(map[string]any),
		},
		"a kind without protected fields stays as it is": {
			"v1", "ConfigMap", entry(owner, "Apply", ""), entry("", "", "")["fieldsV1"].(map[string]any),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": tc.apiVersion, "kind": tc.kind,
				"metadata": map[string]any{"name": "x", "managedFields": []any{tc.entry}},
			}}
			apply.Trim(object, owner)
			if diff := cmp.Diff(tc.want, tc.entry["fieldsV1"]); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

var _ = Describe("A cache without our record of protected fields", func() {
	It("loses nothing of the record in the cluster when a foreign rule is removed", func(ctx SpecContext) {
		f := newFixture(ctx)
		policy := authPolicy.build(f.namespace, "guard")
		f.apply(ctx, policy, apply.Created)
		before := cached(ctx, policy)
		mergePatch(ctx, policy, "intruder", map[string]any{"spec": map[string]any{"rules": map[string]any{"authentication": map[string]any{"open": anonymous()}}}})
		f.apply(ctx, policy, apply.Updated)
		after := live(ctx, policy)
		Expect(content(after)).To(Equal(content(before)))
		Expect(applied(after)).To(Equal(applied(before)))
		Expect(managers(after)).NotTo(ContainElement(HavePrefix("intruder")))
	})

	It("judges the newest copy when that has changed meanwhile", func(ctx SpecContext) {
		f := newFixture(ctx)
		policy := authPolicy.build(f.namespace, "guard")
		f.apply(ctx, policy, apply.Created)
		before := cached(ctx, policy)
		open := map[string]any{"spec": map[string]any{"rules": map[string]any{"authentication": map[string]any{"open": anonymous()}}}}
		mergePatch(ctx, policy, "intruder", open)
		seen := live(ctx, policy)
		apply.Trim(seen, v1alpha1.FieldOwner)
		mergePatch(ctx, policy, "intruder", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}})
		result, err := f.stale(seen).Apply(ctx, policy)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Outcome).To(Equal(apply.Updated))
		Expect(content(live(ctx, policy))).To(Equal(content(before)))
	})
})
