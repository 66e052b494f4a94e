// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// A row of the table becomes three kinds of specs, so that no rule can have fewer.
var _ = Describe("Rules of the API", func() {
	for i, row := range table {
		Describe(fmt.Sprintf("%s: %s", row.kind, row.name), func() {
			for _, value := range row.accepts {
				It("accepts "+brief(value), func(ctx SpecContext) {
					Expect(try(ctx, row, value)).To(Succeed())
				})
			}
			for j, value := range row.refuses {
				It("refuses "+brief(value)+" with a helpful message", func(ctx SpecContext) {
					err := try(ctx, row, value)
					Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
					Expect(err).To(MatchError(ContainSubstring(row.message)))
				})
				It("lets an object stored with "+brief(value)+" change status and finalizers", func(ctx SpecContext) {
					stored := storedObject(row, value, storedName(i, j))
					expectStored(ctx, stored, row.field)
					expectUpdatable(ctx, stored)
					expectStored(ctx, stored, row.field)
					expectDeletable(ctx, stored)
				})
			}
		})
	}
})

// try asks the API server to store the kind's manifest with the value.
func try(ctx context.Context, row rule, value any) error {
	object := valid(row.kind, freshNamespace)
	object.Object = with(object.Object, row.field, value)
	if !strings.HasPrefix(row.field, "status") {
		return api.Create(ctx, object, client.DryRunAll)
	}
	current := live(row.kind)
	if err := api.Get(ctx, client.ObjectKeyFromObject(current), current); err != nil {
		return err
	}
	current.Object["status"] = object.Object["status"]
	return api.Status().Update(ctx, current, client.DryRunAll)
}

// expectUpdatable makes the changes the operator makes, the way it makes them: merge
// patches computed from Go types.
func expectUpdatable(ctx context.Context, stored *unstructured.Unstructured) {
	GinkgoHelper()
	object := typed(stored)
	Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), object)).To(Succeed())

	before := object.DeepCopyObject().(client.Object)
	reflect.ValueOf(object).Elem().FieldByName("Status").FieldByName("ObservedGeneration").SetInt(42)
	Expect(api.Status().Patch(ctx, object, client.MergeFrom(before))).To(Succeed(), "status patch")

	before = object.DeepCopyObject().(client.Object)
	controllerutil.AddFinalizer(object, v1alpha1.FinalizerModelCleanup)
	Expect(api.Patch(ctx, object, client.MergeFrom(before))).To(Succeed(), "patch that adds a finalizer")

	after := read(ctx, stored)
	Expect(get(after.Object, "status.observedGeneration")).To(BeEquivalentTo(42))
	Expect(after.GetFinalizers()).To(ConsistOf(v1alpha1.FinalizerModelCleanup))
}

// expectDeletable deletes the object, which then needs one more patch.
func expectDeletable(ctx context.Context, stored *unstructured.Unstructured) {
	GinkgoHelper()
	object := typed(stored)
	Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), object)).To(Succeed())
	Expect(api.Delete(ctx, object)).To(Succeed())

	before := object.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(object, v1alpha1.FinalizerModelCleanup)
	Expect(api.Patch(ctx, object, client.MergeFrom(before))).To(Succeed(), "patch that removes a finalizer")
	Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), object)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

// expectStored checks that the API server has the violation, so that the specs test
// what they say.
func expectStored(ctx context.Context, stored *unstructured.Unstructured, field string) {
	GinkgoHelper()
	want, err := json.Marshal(get(stored.Object, field))
	Expect(err).NotTo(HaveOccurred())
	got, err := json.Marshal(get(read(ctx, stored).Object, field))
	Expect(err).NotTo(HaveOccurred())
	Expect(string(got)).To(Equal(string(want)))
}

func read(ctx context.Context, stored *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(stored.GroupVersionKind())
	Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), object)).To(Succeed())
	return object
}

// typed returns an empty object of the Go type.
func typed(stored *unstructured.Unstructured) client.Object {
	GinkgoHelper()
	object, err := api.Scheme().New(stored.GroupVersionKind())
	Expect(err).NotTo(HaveOccurred())
	return object.(client.Object)
}

// brief describes a value in the name of a spec.
func brief(value any) string {
	if _, none := value.(absent); none {
		return "nothing"
	}
	text := fmt.Sprintf("%#v", value)
	if len(text) > 80 {
		return fmt.Sprintf("%.60s… (%d characters)", text, len(text))
	}
	return text
}
