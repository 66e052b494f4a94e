// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// container returns the n-th container of a Deployment.
func container(obj *unstructured.Unstructured, n int) map[string]any {
	return field(obj, "spec", "template", "spec", "containers").([]any)[n].(map[string]any)
}

var _ = Describe("Fields of an object that is not protected", func() {
	It("are repaired when they are ours", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := deployment.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			container(live, 0)["image"] = "registry.example/evil:1"
		})
		f.requests(ctx)

		f.apply(ctx, desired, apply.Updated)
		Expect(f.requests(ctx)).To(Equal([]string{"patch"}))
		Expect(container(live(ctx, desired), 0)["image"]).To(Equal("registry.example/api:1"))
	})

	It("are repaired when somebody removed them", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			unstructured.RemoveNestedField(live.Object, "data", "a")
		})

		f.apply(ctx, desired, apply.Updated)
		Expect(live(ctx, desired).Object["data"]).To(Equal(map[string]any{"a": "1", "b": "2"}))
	})

	It("stay when they are somebody else's", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := deployment.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			containers := field(live, "spec", "template", "spec", "containers").([]any)
			sidecar := map[string]any{"name": "sidecar", "image": "registry.example/sidecar:1"}
			set(live, append([]any{sidecar}, containers...), "spec", "template", "spec", "containers")
			set(live, int64(5), "spec", "replicas")
			set(live, int64(42), "spec", "progressDeadlineSeconds")
		})
		f.requests(ctx)

		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
		after := live(ctx, desired)
		Expect(field(after, "spec", "template", "spec", "containers")).To(HaveLen(2))
		Expect(field(after, "spec", "replicas")).To(BeEquivalentTo(5))
	})

	It("that are no longer desired go, or stay for whoever sets them next", func(ctx SpecContext) {
		f := newFixture(ctx)
		replicas := func(obj *unstructured.Unstructured) any { return field(live(ctx, obj), "spec", "replicas") }
		keep := apply.CallOptions{Keep: []string{"spec", "replicas"}}
		sized := func(name string) *unstructured.Unstructured {
			obj := deployment.build(f.namespace, name)
			set(obj, int64(8), "spec", "replicas")
			return obj
		}
		f.apply(ctx, sized("gone"), apply.Created)
		gone := deployment.build(f.namespace, "gone")
		f.apply(ctx, gone, apply.Updated)
		Expect(replicas(gone)).To(BeEquivalentTo(1), "the server's default")

		f.apply(ctx, sized("kept"), apply.Created)
		kept := deployment.build(f.namespace, "kept")
		result, err := f.ApplyWith(ctx, kept, keep)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Outcome).To(Equal(apply.Updated))
		Expect(replicas(kept)).To(BeEquivalentTo(8))
		Expect(live(ctx, kept).GetGeneration()).To(BeEquivalentTo(1), "at no time it was another number")

		By("leaving it to an autoscaler")
		edit(ctx, kept, func(live *unstructured.Unstructured) { set(live, int64(9), "spec", "replicas") })
		cached(ctx, kept)
		f.requests(ctx)
		result, err = f.ApplyWith(ctx, kept, keep)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Outcome).To(Equal(apply.Unchanged))
		Expect(f.requests(ctx)).To(BeEmpty())
		Expect(replicas(kept)).To(BeEquivalentTo(9))

		By("taking it back")
		back := sized("kept")
		set(back, int64(2), "spec", "replicas")
		f.apply(ctx, back, apply.Updated)
		Expect(replicas(back)).To(BeEquivalentTo(2))
	})

	It("of somebody else go when the object is refused with them beside ours", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := service.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{"name": "https", "port": int64(9999), "protocol": "TCP"}}, "spec", "ports")
			live.SetAnnotations(map[string]string{"theirs": "kept"})
		})
		f.requests(ctx)

		result := f.apply(ctx, desired, apply.Updated)
		Expect(result.TookOver).To(BeTrue())
		Expect(f.requests(ctx)).To(Equal([]string{"patch=422", "patch", "patch"}))
		after := live(ctx, desired)
		Expect(field(after, "spec", "ports")).To(ConsistOf(HaveKeyWithValue("port", BeEquivalentTo(8443))))
		Expect(after.GetAnnotations()).To(HaveKeyWithValue("theirs", "kept"))
		cached(ctx, desired)
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	It("of somebody else are no reason to try again what is wrong in itself", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := service.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		set(desired, "no type", "spec", "type")
		f.requests(ctx)
		_, err := f.Apply(ctx, desired)
		Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
		Expect(f.requests(ctx)).To(Equal([]string{"patch=422"}))
	})

	It("are released without a fight when another manager takes them with force and we stop wanting them", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		other := newObject("v1", "ConfigMap")
		other.SetNamespace(f.namespace)
		other.SetName("x")
		set(other, "theirs", "data", "a")
		serverSideApply(ctx, other, "argocd")
		unstructured.RemoveNestedField(desired.Object, "data", "a")
		f.requests(ctx)

		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
		Expect(field(live(ctx, desired), "data", "a")).To(Equal("theirs"))
	})

	It("disappear when we applied them and no longer want them", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := deployment.build(f.namespace, "x")
		desired.SetAnnotations(map[string]string{"ours": "x"})
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		f.requests(ctx)
		desired.SetAnnotations(nil)
		delete(container(desired, 0), "ports")
		set(desired, []any{}, "spec", "template", "spec", "tolerations")

		f.apply(ctx, desired, apply.Updated)
		Expect(f.requests(ctx)).To(Equal([]string{"patch"}))
		after := cached(ctx, desired)
		Expect(after.GetAnnotations()).NotTo(HaveKey("ours"))
		Expect(container(after, 0)).NotTo(HaveKey("ports"))
		Expect(field(after, "spec", "template", "spec", "tolerations")).To(BeNil())
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	It("follow a changed order of list items", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := deployment.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		container(desired, 0)["env"] = []any{
			map[string]any{"name": "B", "value": "2"}, map[string]any{"name": "A", "value": "1"},
		}

		f.apply(ctx, desired, apply.Updated)
		Expect(container(cached(ctx, desired), 0)["env"]).To(Equal(container(desired, 0)["env"]))
		f.requests(ctx)
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	It("settle when the server spells them differently", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := deployment.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		f.requests(ctx)
		set(firstContainer(desired), "2000m", "resources", "requests", "cpu")

		f.apply(ctx, desired, apply.Updated)
		after := cached(ctx, desired)
		Expect(field(firstContainer(after), "resources", "requests", "cpu")).To(Equal("2"))
		for range 3 {
			f.apply(ctx, desired, apply.Unchanged)
		}
		Expect(f.requests(ctx)).To(Equal([]string{"patch"}))
	})

	It("become ours when an earlier release wrote the object", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		Expect(shared.admin.Create(ctx, desired.DeepCopy(), client.FieldOwner("manager"))).To(Succeed())
		cached(ctx, desired)

		f.apply(ctx, desired, apply.Updated)
		Expect(managers(cached(ctx, desired))).To(ContainElement(v1alpha1.FieldOwner + "/Apply"))
		f.requests(ctx)
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	It("disappear when an earlier release wrote them and they are no longer wanted", func(ctx SpecContext) {
		f := newFixture(ctx)
		f.Applier = apply.New(f.newClient(shared.cache), apply.Options{APIReader: f.direct, FormerManagers: []string{"manager"}})
		desired := deployment.build(f.namespace, "x")
		old := desired.DeepCopy()
		container(old, 0)["env"] = []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "OLD", "value": "x"}}
		set(old, int64(9), "spec", "minReadySeconds")
		old.SetAnnotations(map[string]string{"note": "theirs"})
		Expect(shared.admin.Create(ctx, old, client.FieldOwner("manager"))).To(Succeed())
		edit(ctx, old, func(live *unstructured.Unstructured) { set(live, int64(42), "spec", "progressDeadlineSeconds") })
		f.requests(ctx)

		f.apply(ctx, desired, apply.Updated)
		Expect(f.requests(ctx)).To(Equal([]string{"patch", "patch"})) // The right to update is held for protected kinds only.
		after := cached(ctx, desired)
		Expect(container(after, 0)["env"]).To(Equal(container(desired, 0)["env"]))
		Expect(field(after, "spec", "minReadySeconds")).To(BeNil())
		Expect(field(after, "spec", "progressDeadlineSeconds")).To(BeEquivalentTo(42))
		Expect(after.GetAnnotations()).To(HaveKeyWithValue("note", "theirs"))
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	It("include the owner references", func(ctx SpecContext) {
		f := newFixture(ctx)
		owner := configMap.build(f.namespace, "owner")
		reference := metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: f.apply(ctx, owner, apply.Created).Live.GetUID(),
		}
		desired := configMap.build(f.namespace, "x")
		desired.SetOwnerReferences([]metav1.OwnerReference{reference})
		f.apply(ctx, desired, apply.Created)
		foreign := reference
		foreign.UID = "00000000-0000-0000-0000-000000000001"
		edit(ctx, desired, func(live *unstructured.Unstructured) { live.SetOwnerReferences([]metav1.OwnerReference{foreign}) })

		f.apply(ctx, desired, apply.Updated)
		Expect(live(ctx, desired).GetOwnerReferences()).To(ConsistOf(reference, foreign))
	})

	It("include labels and annotations, of which only ours are touched", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		desired.SetAnnotations(map[string]string{"ours": "1", "dropped": "1"})
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			live.SetLabels(map[string]string{"foreign": "x"}) // removes managed-by as well
			live.SetAnnotations(map[string]string{"foreign": "x", "ours": "changed", "dropped": "1"})
		})
		desired.SetAnnotations(map[string]string{"ours": "1"})

		f.apply(ctx, desired, apply.Updated)
		after := cached(ctx, desired)
		Expect(after.GetLabels()).To(Equal(map[string]string{"foreign": "x", v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}))
		Expect(after.GetAnnotations()).To(Equal(map[string]string{"foreign": "x", "ours": "1"}))
	})
})

// firstContainer wraps the first container for the path helpers.
func firstContainer(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: container(obj, 0)}
}
