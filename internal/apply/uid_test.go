// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/apply"
)

var _ = Describe("What is meant for one object only", func() {
	changed := func(desired *unstructured.Unstructured) *unstructured.Unstructured {
		out := desired.DeepCopy()
		Expect(unstructured.SetNestedField(out.Object, "yes", "metadata", "labels", "example.com/changed")).To(Succeed())
		return out
	}

	It("is written to that one", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		result, err := f.ApplyWith(ctx, changed(desired), apply.CallOptions{UID: live(ctx, desired).GetUID()})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Outcome).To(Equal(apply.Updated))
	})

	It("is not written to another one of its name", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		_, err := f.ApplyWith(ctx, changed(desired), apply.CallOptions{UID: "another"})
		Expect(err).To(MatchError(apierrors.IsConflict, "IsConflict"))
		Expect(live(ctx, desired).GetLabels()).NotTo(HaveKey("example.com/changed"))
	})

	It("is not written to a state that it was not meant for", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		meant := apply.CallOptions{UID: live(ctx, desired).GetUID(), Generation: live(ctx, desired).GetGeneration()}
		edited := live(ctx, desired)
		Expect(unstructured.SetNestedField(edited.Object, "other", "spec", "targetRef", "name")).To(Succeed())
		Expect(shared.admin.Update(ctx, edited)).To(Succeed())
		_, err := f.ApplyWith(ctx, changed(desired), meant)
		Expect(err).To(MatchError(apierrors.IsConflict, "IsConflict"))
		Expect(live(ctx, desired).GetLabels()).NotTo(HaveKey("example.com/changed"))
		meant.Generation = edited.GetGeneration()
		Expect(f.ApplyWith(ctx, changed(desired), meant)).To(HaveField("Outcome", apply.Updated))
	})

	// The cache may show it for a while after it was deleted.
	It("is not made anew, whatever the cache shows", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		former := live(ctx, desired)
		Expect(shared.admin.Delete(ctx, desired.DeepCopy())).To(Succeed())
		for _, applier := range []*apply.Applier{f.stale(former), apply.New(f.newClient(staleReader{former}), apply.Options{APIReader: staleReader{former}}), f.stale(nil)} {
			_, err := applier.ApplyWith(ctx, changed(desired), apply.CallOptions{UID: former.GetUID()})
			Expect(err).To(MatchError(apierrors.IsConflict, "IsConflict"))
			Expect(shared.admin.Get(ctx, client.ObjectKeyFromObject(desired), desired.DeepCopy())).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		}
	})
})
