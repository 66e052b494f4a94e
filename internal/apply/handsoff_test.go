// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// optOut sets the annotation that takes an object out of the operator's hands.
func optOut(live *unstructured.Unstructured) {
	live.SetAnnotations(map[string]string{v1alpha1.AnnotationManaged: "false"})
}

var _ = Describe("An object that opted out", func() {
	It("is not updated and costs no request", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		before := edit(ctx, desired, func(live *unstructured.Unstructured) {
			optOut(live)
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})
		f.requests(ctx)

		f.apply(ctx, desired, apply.OptedOut)
		Expect(f.requests(ctx)).To(BeEmpty())
		Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
	})

	It("is updated again when the annotation goes", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			optOut(live)
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})
		f.apply(ctx, desired, apply.OptedOut)
		edit(ctx, desired, func(live *unstructured.Unstructured) { live.SetAnnotations(nil) })

		f.apply(ctx, desired, apply.Updated)
		Expect(field(live(ctx, desired), "spec", "rules", "authentication")).NotTo(HaveKey("open"))
	})

	for _, kind := range kinds {
		It("is respected although the cache does not know yet: "+kind.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := kind.object.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			stale := f.stale(cached(ctx, desired))
			before := edit(ctx, desired, optOut)
			desired.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, "more": "x"})

			Expect(stale.Apply(ctx, desired)).To(HaveField("Outcome", apply.OptedOut))
			Expect(stale.Delete(ctx, desired.GroupVersionKind(), client.ObjectKeyFromObject(desired))).
				To(HaveField("Outcome", apply.OptedOut))
			Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		})
	}

	It("ends in a conflict when there is no way to read past the cache", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		blind := apply.New(f.newClient(staleReader{cached(ctx, desired)}), apply.Options{})
		before := edit(ctx, desired, optOut)
		set(desired, "3", "data", "c")

		result, err := blind.Apply(ctx, desired)
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "error: %v", err)
		Expect(result.Outcome).To(Equal(apply.Failed))
		Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
	})
})

var _ = Describe("An object of somebody else", func() {
	for _, kind := range kinds {
		It("is left alone and named in the error: "+kind.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := kind.object.build(f.namespace, "x")
			theirs := desired.DeepCopy()
			theirs.SetLabels(map[string]string{v1alpha1.LabelManagedBy: "Helm"})
			Expect(shared.admin.Create(ctx, theirs)).To(Succeed())
			before := cached(ctx, desired)

			result, err := f.Apply(ctx, desired)
			Expect(result.Outcome).To(Equal(apply.NotOurs))
			conflict, ok := errors.AsType[*apply.ConflictError](err)
			Expect(ok).To(BeTrue(), "error: %v", err)
			Expect(conflict.Key).To(Equal(client.ObjectKeyFromObject(desired)))
			Expect(conflict.Found).To(Equal("Helm"))
			Expect(f.requests(ctx)).To(BeEmpty())
			Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		})
	}

	It("is not merged into although the cache does not know it yet", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		theirs := desired.DeepCopy()
		theirs.SetLabels(nil)
		Expect(shared.admin.Create(ctx, theirs)).To(Succeed())
		before := cached(ctx, desired)

		result, err := f.stale(nil).Apply(ctx, desired)
		Expect(err).To(MatchError(ContainSubstring("not managed by maas-controller")))
		Expect(result.Outcome).To(Equal(apply.NotOurs))
		Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
	})

	It("is taken over on request, whole where it protects", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		theirs := desired.DeepCopy()
		theirs.SetLabels(map[string]string{"team": "a"})
		set(theirs, anonymous(), "spec", "rules", "authentication", "open")
		Expect(shared.admin.Create(ctx, theirs)).To(Succeed())
		before := cached(ctx, desired)

		result, err := f.ApplyWith(ctx, desired, apply.CallOptions{Adopt: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(result).To(And(HaveField("Outcome", apply.Updated), HaveField("TookOver", true)))
		after := cached(ctx, desired)
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		Expect(field(after, "spec", "rules", "authentication")).NotTo(HaveKey("open"))
		Expect(after.GetLabels()).To(Equal(map[string]string{"team": "a", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}))
		f.requests(ctx)
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})
})

var _ = Describe("An object that is being deleted", func() {
	It("is not applied to; the caller retries and creates it anew", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		old := edit(ctx, desired, func(live *unstructured.Unstructured) { live.SetFinalizers([]string{"example.com/wait"}) })
		Expect(shared.admin.Delete(ctx, desired)).To(Succeed())
		cached(ctx, desired)
		f.requests(ctx)
		unstructured.RemoveNestedField(desired.Object, "spec", "limits", "rates-500-1h")

		_, err := f.Apply(ctx, desired)
		Expect(err).To(MatchError(apply.ErrTerminating))
		Expect(f.requests(ctx)).To(BeEmpty())

		release := live(ctx, desired)
		release.SetFinalizers(nil)
		Expect(shared.admin.Update(ctx, release)).To(Succeed())
		uncached(ctx, desired)
		Expect(f.apply(ctx, desired, apply.Created).Live.GetUID()).NotTo(Equal(old.GetUID()))
	})

	It("is created anew when it vanished and the cache does not know yet", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		stale := f.stale(cached(ctx, desired))
		Expect(shared.admin.Delete(ctx, desired)).To(Succeed())
		set(desired, "3", "data", "c")

		Expect(stale.Apply(ctx, desired)).To(HaveField("Outcome", apply.Created))
		Expect(field(live(ctx, desired), "data")).To(HaveLen(3))
	})
})

var _ = Describe("A desired object without our label", func() {
	It("is refused before any request", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		desired.SetLabels(nil)

		_, err := f.Apply(ctx, desired)
		Expect(err).To(MatchError(apply.ErrInvalidDesired))
		Expect(f.requests(ctx)).To(BeEmpty())
	})
})
