// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

var _ = Describe("Delete", func() {
	remove := func(ctx SpecContext, f *fixture, obj *unstructured.Unstructured, want apply.Outcome) {
		GinkgoHelper()
		result, err := f.Delete(ctx, obj.GroupVersionKind(), client.ObjectKeyFromObject(obj))
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Outcome).To(Equal(want))
	}
	gone := func(ctx SpecContext, obj *unstructured.Unstructured) bool {
		return apierrors.IsNotFound(shared.admin.Get(ctx, client.ObjectKeyFromObject(obj), newObject(obj.GetAPIVersion(), obj.GetKind())))
	}

	It("removes an object of ours with one request, and again with none", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		f.requests(ctx)

		remove(ctx, f, desired, apply.Deleted)
		Expect(f.requests(ctx)).To(Equal([]string{"delete"}))
		Expect(gone(ctx, desired)).To(BeTrue())
		uncached(ctx, desired)
		remove(ctx, f, desired, apply.NotFound)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	It("leaves an object that opted out", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, optOut)

		remove(ctx, f, desired, apply.OptedOut)
		Expect(gone(ctx, desired)).To(BeFalse())
	})

	It("leaves an object without our label", func(ctx SpecContext) {
		f := newFixture(ctx)
		theirs := configMap.build(f.namespace, "x")
		theirs.SetLabels(nil)
		Expect(shared.admin.Create(ctx, theirs)).To(Succeed())
		cached(ctx, theirs)

		remove(ctx, f, theirs, apply.NotOurs)
		Expect(gone(ctx, theirs)).To(BeFalse())
	})

	It("removes an object of ours that lost its labels", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) { live.SetLabels(nil) })

		remove(ctx, f, desired, apply.Deleted)
		Expect(gone(ctx, desired)).To(BeTrue())
	})

	It("leaves an object that lost its labels and every trace of our apply", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			live.SetLabels(nil)
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
		})

		remove(ctx, f, desired, apply.NotOurs)
		Expect(gone(ctx, desired)).To(BeFalse())
	})

	It("looks again when the object changed since the cache saw it", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		stale := f.stale(cached(ctx, desired))
		edit(ctx, desired, func(live *unstructured.Unstructured) { set(live, "x", "data", "z") })
		f.requests(ctx)

		Expect(stale.Delete(ctx, desired.GroupVersionKind(), client.ObjectKeyFromObject(desired))).
			To(HaveField("Outcome", apply.Deleted))
		Expect(f.requests(ctx)).To(Equal([]string{"delete=409", "get", "delete"}))
		Expect(gone(ctx, desired)).To(BeTrue())
	})

	It("spares an object that was recreated by somebody else under the same name", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		stale := f.stale(cached(ctx, desired))
		Expect(shared.admin.Delete(ctx, desired)).To(Succeed())
		theirs := configMap.build(f.namespace, "x")
		theirs.SetLabels(nil)
		Expect(shared.admin.Create(ctx, theirs)).To(Succeed())

		Expect(stale.Delete(ctx, desired.GroupVersionKind(), client.ObjectKeyFromObject(desired))).
			To(HaveField("Outcome", apply.NotOurs))
		Expect(gone(ctx, desired)).To(BeFalse())
	})

	It("asks once when finalizers keep the object", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := configMap.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) { live.SetFinalizers([]string{"example.com/wait"}) })
		f.requests(ctx)

		remove(ctx, f, desired, apply.Deleted)
		cached(ctx, desired)
		remove(ctx, f, desired, apply.Deleted)
		Expect(f.requests(ctx)).To(Equal([]string{"delete"}))
	})

	It("finds nothing when the kind does not exist", func(ctx SpecContext) {
		f := newFixture(ctx)
		gvk := schema.GroupVersionKind{Group: "missing.example.com", Version: "v1", Kind: "Thing"}
		Expect(f.Delete(ctx, gvk, types.NamespacedName{Namespace: f.namespace, Name: "x"})).
			To(HaveField("Outcome", apply.NotFound))
	})
})

var _ = Describe("DeleteAllByLabels", func() {
	labelled := func(s sample, namespace, name, model string) *unstructured.Unstructured {
		obj := s.build(namespace, name)
		obj.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, v1alpha1.LabelModel: model})
		return obj
	}

	It("removes all of ours in every namespace, and reports what it leaves", func(ctx SpecContext) {
		f, other := newFixture(ctx), newFixture(ctx)
		model := f.namespace // unique
		a := labelled(configMap, f.namespace, "a", model)
		b := labelled(configMap, other.namespace, "b", model)
		opted := labelled(configMap, f.namespace, "opted", model)
		optOut(opted)
		unrelated := labelled(configMap, f.namespace, "unrelated", "other")
		for _, obj := range []*unstructured.Unstructured{a, b, opted, unrelated} {
			f.apply(ctx, obj, apply.Created)
		}
		theirs := labelled(configMap, f.namespace, "theirs", model)
		theirs.SetLabels(map[string]string{v1alpha1.LabelModel: model})
		Expect(shared.admin.Create(ctx, theirs)).To(Succeed())

		deletions, err := f.DeleteAllByLabels(ctx, a.GroupVersionKind(), map[string]string{v1alpha1.LabelModel: model}, "")
		Expect(err).NotTo(HaveOccurred())
		ref := func(namespace, name string) apply.Ref {
			return apply.Ref{Kind: "ConfigMap", Namespace: namespace, Name: name}
		}
		Expect(deletions).To(ConsistOf(
			apply.Deletion{Ref: ref(f.namespace, "a"), Outcome: apply.Deleted},
			apply.Deletion{Ref: ref(other.namespace, "b"), Outcome: apply.Deleted},
			apply.Deletion{Ref: ref(f.namespace, "opted"), Outcome: apply.OptedOut},
			apply.Deletion{Ref: ref(f.namespace, "theirs"), Outcome: apply.NotOurs},
		))
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(a.GroupVersionKind())
		Expect(shared.admin.List(ctx, list, client.InNamespace(f.namespace))).To(Succeed())
		Expect(list.Items).To(HaveLen(3))
	})

	It("stays in one namespace when told to", func(ctx SpecContext) {
		f, other := newFixture(ctx), newFixture(ctx)
		a, b := labelled(role, f.namespace, "x", f.namespace), labelled(role, other.namespace, "x", f.namespace)
		f.apply(ctx, a, apply.Created)
		f.apply(ctx, b, apply.Created)

		deletions, err := f.DeleteAllByLabels(ctx, a.GroupVersionKind(), map[string]string{v1alpha1.LabelModel: f.namespace}, f.namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(deletions).To(HaveLen(1))
		live(ctx, b)
	})

	It("finds nothing when the kind does not exist", func(ctx SpecContext) {
		f := newFixture(ctx)
		gvk := schema.GroupVersionKind{Group: "missing.example.com", Version: "v1", Kind: "Thing"}
		Expect(f.DeleteAllByLabels(ctx, gvk, map[string]string{"a": "b"}, "")).To(BeEmpty())
	})

	It("refuses to delete everything", func(ctx SpecContext) {
		f := newFixture(ctx)
		_, err := f.DeleteAllByLabels(ctx, configMap.build("", "x").GroupVersionKind(), nil, "")
		Expect(err).To(MatchError(ContainSubstring("no labels")))
	})
})

var _ = Describe("Prune", func() {
	const owner = "maas.opendatahub.io/owner-uid"
	tracked := func(f *fixture, s sample, name, uid string) *unstructured.Unstructured {
		obj := s.build(f.namespace, name)
		obj.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, owner: uid})
		return obj
	}

	It("deletes what is no longer wanted and keeps the rest", func(ctx SpecContext) {
		f := newFixture(ctx)
		keep, drop := tracked(f, configMap, "keep", "1"), tracked(f, authPolicy, "drop", "1")
		moved, opted := tracked(f, configMap, "moved", "2"), tracked(f, role, "opted", "1")
		optOut(opted)
		for _, obj := range []*unstructured.Unstructured{keep, drop, moved, opted} {
			f.apply(ctx, obj, apply.Created)
		}
		missingKind := apply.Ref{Group: "missing.example.com", Kind: "Thing", Namespace: f.namespace, Name: "x"}
		missing := apply.Ref{Kind: "Secret", Namespace: f.namespace, Name: "x"}
		previous := apply.InventoryOf(keep, drop, moved, opted).Union(apply.Inventory{missingKind, missing})

		pruned, err := f.Prune(ctx, previous, apply.InventoryOf(keep), apply.PruneOptions{Tracking: map[string]string{owner: "1"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(pruned.Inventory).To(Equal(apply.InventoryOf(keep)))
		outcomes := map[string]apply.Outcome{}
		for _, d := range pruned.Deletions {
			outcomes[d.Ref.Kind+"/"+d.Ref.Name] = d.Outcome
		}
		Expect(outcomes).To(Equal(map[string]apply.Outcome{
			"AuthPolicy/drop": apply.Deleted, "ConfigMap/moved": apply.NotOurs, "Role/opted": apply.OptedOut,
			"Secret/x": apply.NotFound, "Thing/x": apply.NotFound,
		}))
		live(ctx, keep)
		live(ctx, moved)
		live(ctx, opted)
	})

	It("keeps in the inventory what it could not delete", func(ctx SpecContext) {
		f := newFixture(ctx)
		drop := tracked(f, configMap, "drop", "1")
		f.apply(ctx, drop, apply.Created)
		config := shared.env.AdminConfig()
		config.Impersonate.UserName = f.user // without the group that may do everything
		powerless, err := client.New(config, client.Options{Mapper: shared.mapper})
		Expect(err).NotTo(HaveOccurred())

		pruned, err := apply.New(powerless, apply.Options{APIReader: f.direct}).
			Prune(ctx, apply.InventoryOf(drop), nil, apply.PruneOptions{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error: %v", err)
		Expect(err).To(MatchError(ContainSubstring("prune ConfigMap " + f.namespace + "/drop")))
		Expect(pruned.Inventory).To(Equal(apply.InventoryOf(drop)))
		Expect(pruned.Deletions).To(Equal([]apply.Deletion{{Ref: apply.InventoryOf(drop)[0], Outcome: apply.Failed}}))
	})
})
