// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

var _ = Describe("Several appliers at once", func() {
	It("create an object together: one wins, the others agree", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		const n = 8
		var group sync.WaitGroup
		results := make([]apply.Result, n)
		errs := make([]error, n)
		for i := range n {
			group.Go(func() {
				defer GinkgoRecover()
				results[i], errs[i] = apply.New(f.direct, apply.Options{}).Apply(ctx, desired)
			})
		}
		group.Wait()

		created := 0
		for i := range n {
			Expect(errs[i]).NotTo(HaveOccurred())
			if results[i].Outcome == apply.Created {
				created++
			}
		}
		Expect(created).To(Equal(1))
		Expect(live(ctx, desired).GetGeneration()).To(BeEquivalentTo(1))
	})

	It("converge on the last desired state when callers retry conflicts", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		shrunk := desired.DeepCopy()
		unstructured.RemoveNestedField(shrunk.Object, "spec", "limits", "rates-500-1h")

		var group sync.WaitGroup
		for range 4 {
			a := apply.New(f.newClient(shared.cache), apply.Options{APIReader: f.direct})
			group.Go(func() {
				defer GinkgoRecover()
				Eventually(func() error {
					_, err := a.Apply(ctx, shrunk)
					return err
				}).Should(Succeed())
			})
			group.Go(func() {
				defer GinkgoRecover()
				for i := range 10 { // somebody else, busy with the metadata
					patch := fmt.Sprintf(`{"metadata":{"annotations":{"at":"%d"}}}`, i)
					Expect(shared.admin.Patch(ctx, desired.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
				}
			})
		}
		group.Wait()
		Expect(live(ctx, desired).Object["spec"]).To(Equal(shrunk.Object["spec"]))
	})

	It("share one Applier", func(ctx SpecContext) {
		f := newFixture(ctx)
		a := apply.New(f.newClient(shared.cache), apply.Options{APIReader: f.direct, MemorySize: 4})
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				defer GinkgoRecover()
				obj := networkPolicy.build(f.namespace, string(rune('a'+i%8)))
				_, err := a.Apply(ctx, obj)
				if !apierrors.IsConflict(err) {
					Expect(err).NotTo(HaveOccurred())
				}
			})
		}
		group.Wait()
		for i := range 8 {
			live(ctx, networkPolicy.build(f.namespace, string(rune('a'+i))))
		}
	})
})

var _ = Describe("The recorder", func() {
	It("hears of every call with its kind, outcome and cost", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})
		f.apply(ctx, desired, apply.Updated)
		cached(ctx, desired)
		f.restart()
		f.apply(ctx, desired, apply.Unchanged)
		_, err := f.Delete(ctx, desired.GroupVersionKind(), client.ObjectKeyFromObject(desired))
		Expect(err).NotTo(HaveOccurred())

		kind := desired.GroupVersionKind().GroupKind()
		Expect(f.events).To(Equal([]apply.Event{
			{GroupKind: kind, Operation: apply.OperationApply, Outcome: apply.Created, Writes: 1},
			{GroupKind: kind, Operation: apply.OperationApply, Outcome: apply.Updated, Writes: 1, TookOver: true, Repaired: true},
			{GroupKind: kind, Operation: apply.OperationApply, Outcome: apply.Unchanged, DryRuns: 1},
			{GroupKind: kind, Operation: apply.OperationDelete, Outcome: apply.Deleted, Writes: 1},
		}))
	})

	It("hears of a refusal", func(ctx SpecContext) {
		f := newFixture(ctx)
		theirs := configMap.build(f.namespace, "x")
		theirs.SetLabels(map[string]string{v1alpha1.LabelManagedBy: "Helm"})
		Expect(shared.admin.Create(ctx, theirs)).To(Succeed())
		cached(ctx, theirs)
		_, err := f.Apply(ctx, configMap.build(f.namespace, "x"))
		Expect(err).To(HaveOccurred())
		Expect(f.events).To(HaveExactElements(HaveField("Outcome", apply.NotOurs)))
	})
})
