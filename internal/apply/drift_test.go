// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/internal/apply"
)

var _ = Describe("A write", func() {
	var f *fixture
	var desired *unstructured.Unstructured

	BeforeEach(func(ctx SpecContext) {
		f = newFixture(ctx)
		desired = authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
	})
	recorded := func() bool { return f.events[len(f.events)-1].Repaired }
	tamper := func(ctx context.Context) {
		GinkgoHelper()
		edit(ctx, desired, func(obj *unstructured.Unstructured) { set(obj, anonymous(), "spec", "rules", "authentication", "open") })
	}
	remove := func(ctx context.Context) {
		GinkgoHelper()
		Expect(shared.admin.Delete(ctx, desired.DeepCopy())).To(Succeed())
		uncached(ctx, desired)
	}

	It("is no repair when the object is new", func() {
		Expect(recorded()).To(BeFalse())
	})

	It("is no repair when the desired object changed", func(ctx SpecContext) {
		desired.SetAnnotations(map[string]string{"example.com/generation": "2"})
		Expect(f.apply(ctx, desired, apply.Updated).Repaired).To(BeFalse())
		Expect(recorded()).To(BeFalse())
	})

	It("is a repair when somebody changed the object", func(ctx SpecContext) {
		tamper(ctx)
		Expect(f.apply(ctx, desired, apply.Updated).Repaired).To(BeTrue())
		Expect(recorded()).To(BeTrue())
	})

	It("is a repair when somebody deleted the object", func(ctx SpecContext) {
		remove(ctx)
		Expect(f.apply(ctx, desired, apply.Created).Repaired).To(BeTrue())
		Expect(recorded()).To(BeTrue())
	})

	It("is no repair once the object was not wanted for a while", func(ctx SpecContext) {
		remove(ctx)
		result, err := f.Delete(ctx, desired.GroupVersionKind(), client.ObjectKeyFromObject(desired))
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Outcome).To(Equal(apply.NotFound))
		Expect(f.apply(ctx, desired, apply.Created).Repaired).To(BeFalse())
	})

	It("is a repair after a restart that found the object in order", func(ctx SpecContext) {
		f.restart()
		f.apply(ctx, desired, apply.Unchanged)
		tamper(ctx)
		Expect(f.apply(ctx, desired, apply.Updated).Repaired).To(BeTrue())
	})

	It("is not called a repair when a restart leaves open who changed what", func(ctx SpecContext) {
		f.restart()
		tamper(ctx)
		Expect(f.apply(ctx, desired, apply.Updated).Repaired).To(BeFalse())
	})
})
