// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// kinds are all samples: those that the server stores as they are, and those it completes or rewrites.
var kinds = []struct {
	name   string
	object sample
	exact  bool
}{
	{"AuthPolicy", authPolicy, false},
	{"TokenRateLimitPolicy", tokenRateLimitPolicy, true},
	{"HTTPRoute", httpRoute, false},
	{"NetworkPolicy", networkPolicy, false},
	{"Role", role, true},
	{"RoleBinding", roleBinding, false},
	{"Deployment", deployment, false},
	{"ConfigMap", configMap, true},
	{"Secret", secret, false},
}

var _ = Describe("An object that is as desired", func() {
	for _, kind := range kinds {
		It("is created with one request and then costs none: "+kind.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := kind.object.build(f.namespace, "x")
			result := f.apply(ctx, desired, apply.Created)
			Expect(f.requests(ctx)).To(Equal([]string{"patch"}))
			Expect(managers(result.Live)).To(Equal([]string{v1alpha1.FieldOwner + "/Apply"}))
			before := cached(ctx, desired)

			f.apply(ctx, desired, apply.Unchanged)
			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
			Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		})

		It("costs at most one dry run after a restart: "+kind.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := kind.object.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			before := cached(ctx, desired)
			f.requests(ctx)

			f.restart()
			f.apply(ctx, desired, apply.Unchanged)
			requests := f.requests(ctx)
			if kind.exact {
				Expect(requests).To(BeEmpty())
			} else {
				Expect(requests).To(HaveExactElements(HaveSuffix("(dry)")))
			}

			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
			Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
		})

		It("stays free of requests when others change its status or metadata: "+kind.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := kind.object.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			f.requests(ctx)
			edit(ctx, desired, func(obj *unstructured.Unstructured) {
				obj.SetAnnotations(map[string]string{"example.com/note": "x"})
			})

			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
		})

		It("is written once when the desired object changes: "+kind.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := kind.object.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			before := cached(ctx, desired)
			f.requests(ctx)

			desired.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, "more": "x"})
			result := f.apply(ctx, desired, apply.Updated)
			Expect(writes(f.requests(ctx))).To(Equal(1))
			Expect(result.Live.GetUID()).To(Equal(before.GetUID()))
			cached(ctx, desired)

			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
		})
	}

	It("is not written again on the word of a cache that lags behind our own write", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		old := cached(ctx, desired)
		stale := f.stale(old)
		unstructured.RemoveNestedField(desired.Object, "spec", "limits", "rates-500-1h")
		Expect(stale.Apply(ctx, desired)).To(HaveField("Outcome", apply.Updated))
		written := live(ctx, desired)
		f.requests(ctx)

		Expect(stale.Apply(ctx, desired)).To(HaveField("Outcome", apply.Unchanged))
		Expect(f.requests(ctx)).To(Equal([]string{"get"}))
		Expect(live(ctx, desired).GetResourceVersion()).To(Equal(written.GetResourceVersion()))
	})
})
