// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
)

// anonymous is a rule that lets everybody in.
func anonymous() map[string]any {
	return map[string]any{"anonymous": map[string]any{}}
}

// mergePatch sends a JSON merge patch as another manager.
func mergePatch(ctx context.Context, obj *unstructured.Unstructured, manager string, patch map[string]any) {
	GinkgoHelper()
	body, err := json.Marshal(patch)
	Expect(err).NotTo(HaveOccurred())
	Expect(shared.admin.Patch(ctx, obj.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.FieldOwner(manager))).To(Succeed())
	cached(ctx, obj)
}

// serverSideApply applies an object as another manager.
func serverSideApply(ctx context.Context, obj *unstructured.Unstructured, manager string) {
	GinkgoHelper()
	Expect(shared.admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj.DeepCopy()),
		client.FieldOwner(manager), client.ForceOwnership)).To(Succeed())
	cached(ctx, obj)
}

// content is what is left of an object without its metadata and status.
func content(obj *unstructured.Unstructured) map[string]any {
	out := runtime.DeepCopyJSON(obj.Object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// injections are the ways in which somebody adds to a generated AuthPolicy.
var injections = []struct {
	name   string
	inject func(context.Context, *unstructured.Unstructured)
}{
	{"kubectl edit", func(ctx context.Context, obj *unstructured.Unstructured) {
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})
	}},
	{"a merge patch", func(ctx context.Context, obj *unstructured.Unstructured) {
		mergePatch(ctx, obj, "kubectl-patch", map[string]any{"spec": map[string]any{
			"rules": map[string]any{"authentication": map[string]any{"open": anonymous()}},
		}})
	}},
	{"a merge patch under our own manager name", func(ctx context.Context, obj *unstructured.Unstructured) {
		mergePatch(ctx, obj, v1alpha1.FieldOwner, map[string]any{"spec": map[string]any{
			"rules": map[string]any{"authentication": map[string]any{"open": anonymous()}},
		}})
	}},
	{"server-side apply of another manager", func(ctx context.Context, obj *unstructured.Unstructured) {
		other := newObject(obj.GetAPIVersion(), obj.GetKind())
		other.SetNamespace(obj.GetNamespace())
		other.SetName(obj.GetName())
		set(other, field(obj, "spec", "targetRef"), "spec", "targetRef")
		set(other, anonymous(), "spec", "rules", "authentication", "open")
		serverSideApply(ctx, other, "argocd")
	}},
	{"an update that also forgets all managers", func(ctx context.Context, obj *unstructured.Unstructured) {
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{}}, "metadata", "managedFields")
		})
	}},
	{"an update that removes the trace of its manager", func(ctx context.Context, obj *unstructured.Unstructured) {
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			set(live, field(live, "metadata", "managedFields").([]any)[:1], "metadata", "managedFields")
		})
	}},
	{"a replaced rule", func(ctx context.Context, obj *unstructured.Unstructured) {
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			set(live, map[string]any{"api-keys": anonymous()}, "spec", "rules", "authentication")
		})
	}},
	{"rules moved to where they exclude ours", func(ctx context.Context, obj *unstructured.Unstructured) {
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			rules := field(live, "spec", "rules")
			unstructured.RemoveNestedField(live.Object, "spec", "rules")
			unstructured.RemoveNestedField(live.Object, "spec", "when")
			set(live, rules, "spec", "defaults", "rules")
		})
	}},
	{"a removed condition", func(ctx context.Context, obj *unstructured.Unstructured) {
		edit(ctx, obj, func(live *unstructured.Unstructured) {
			unstructured.RemoveNestedField(live.Object, "spec", "when")
		})
	}},
}

var _ = Describe("What others put into a protected sub-tree", func() {
	for _, injection := range injections {
		It("is removed from an AuthPolicy: "+injection.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := authPolicy.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			before := cached(ctx, desired)
			f.requests(ctx)
			injection.inject(ctx, desired)
			Expect(live(ctx, desired).Object["spec"]).NotTo(Equal(before.Object["spec"]), "the injection had no effect")

			f.apply(ctx, desired, apply.Updated)
			Expect(writes(f.requests(ctx))).To(BeNumerically("<=", 3))
			after := cached(ctx, desired)
			Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
			Expect(after.GetUID()).To(Equal(before.GetUID()))
			Expect(after.GetLabels()).To(Equal(before.GetLabels()))

			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
		})

		It("is removed by an operator that just started: "+injection.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := authPolicy.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			before := cached(ctx, desired)
			injection.inject(ctx, desired)
			f.restart()

			f.apply(ctx, desired, apply.Updated)
			Expect(cached(ctx, desired).Object["spec"]).To(Equal(before.Object["spec"]))
			f.requests(ctx)
			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
		})

		It("does not survive a later change of the desired object: "+injection.name, func(ctx SpecContext) {
			f := newFixture(ctx)
			desired := authPolicy.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			injection.inject(ctx, desired)
			unstructured.RemoveNestedField(desired.Object, "spec", "rules", "authentication", "tokens")

			f.apply(ctx, desired, apply.Updated)
			after := cached(ctx, desired)
			Expect(field(after, "spec", "rules", "authentication")).To(HaveLen(1))
			Expect(field(after, "spec", "rules", "authentication", "api-keys", "apiKey")).NotTo(BeNil())
			Expect(field(after, "spec", "defaults")).To(BeNil())
		})
	}

	It("is removed with one write when it only adds", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		f.requests(ctx)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})

		Expect(f.apply(ctx, desired, apply.Updated).TookOver).To(BeTrue())
		Expect(f.requests(ctx)).To(Equal([]string{"get", "update"}), "the cache lacks our record of the fields, see apply.Trim")
		Expect(managers(live(ctx, desired))).To(Equal([]string{v1alpha1.FieldOwner + "/Apply"}))
	})

	It("is removed from a TokenRateLimitPolicy that an earlier release wrote", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := tokenRateLimitPolicy.build(f.namespace, "x")
		old := desired.DeepCopy()
		set(old, []any{map[string]any{"limit": int64(7), "window": "1m"}}, "spec", "limits", "old-limit", "rates")
		Expect(shared.admin.Create(ctx, old, client.FieldOwner("manager"))).To(Succeed())
		before := cached(ctx, old)

		f.apply(ctx, desired, apply.Updated)
		Expect(writes(f.requests(ctx))).To(BeNumerically("<=", 3))
		after := cached(ctx, desired)
		Expect(after.Object["spec"]).To(Equal(desired.Object["spec"]))
		Expect(after.GetUID()).To(Equal(before.GetUID()))

		unstructured.RemoveNestedField(desired.Object, "spec", "limits", "rates-500-1h")
		f.apply(ctx, desired, apply.Updated)
		Expect(f.requests(ctx)).To(Equal([]string{"patch"}), "after the take-over an edit is one apply")
		Expect(live(ctx, desired).Object["spec"]).To(Equal(desired.Object["spec"]))
	})

	It("is taken over without a change of the content when an earlier release wrote the same", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		Expect(shared.admin.Create(ctx, desired.DeepCopy(), client.FieldOwner("manager"))).To(Succeed())
		before := cached(ctx, desired)

		f.apply(ctx, desired, apply.Updated)
		after := cached(ctx, desired)
		Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
		Expect(after.GetGeneration()).To(Equal(before.GetGeneration()))
		f.requests(ctx)
		f.apply(ctx, desired, apply.Unchanged)
		Expect(f.requests(ctx)).To(BeEmpty())
	})

	DescribeTable("is removed from every protected kind",
		func(ctx SpecContext, s sample, inject func(*unstructured.Unstructured)) {
			f := newFixture(ctx)
			desired := s.build(f.namespace, "x")
			f.apply(ctx, desired, apply.Created)
			before := cached(ctx, desired)
			edit(ctx, desired, inject)

			f.apply(ctx, desired, apply.Updated)
			after := cached(ctx, desired)
			Expect(content(after)).To(Equal(content(before)))
			Expect(after.GetUID()).To(Equal(before.GetUID()))
			f.requests(ctx)
			f.apply(ctx, desired, apply.Unchanged)
			Expect(f.requests(ctx)).To(BeEmpty())
		},
		Entry("a limit of a TokenRateLimitPolicy", tokenRateLimitPolicy, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{"limit": int64(999999), "window": "1s"}}, "spec", "limits", "more", "rates")
		}),
		Entry("a raised limit of a TokenRateLimitPolicy", tokenRateLimitPolicy, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{"limit": int64(999999), "window": "1h"}}, "spec", "limits", "rates-500-1h", "rates")
		}),
		Entry("an exception in a limit of a TokenRateLimitPolicy", tokenRateLimitPolicy, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{"predicate": "false"}}, "spec", "limits", "rates-500-1h", "when")
		}),
		Entry("a rule of an HTTPRoute", httpRoute, func(live *unstructured.Unstructured) {
			rules := field(live, "spec", "rules").([]any)
			set(live, append(rules, map[string]any{
				"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/internal"}}},
				"backendRefs": []any{map[string]any{"name": "maas-api", "port": int64(8443)}},
			}), "spec", "rules")
		}),
		Entry("a host name of an HTTPRoute", httpRoute, func(live *unstructured.Unstructured) {
			set(live, []any{"evil.example"}, "spec", "hostnames")
		}),
		Entry("a parent of an HTTPRoute", httpRoute, func(live *unstructured.Unstructured) {
			parents := field(live, "spec", "parentRefs").([]any)
			set(live, append(parents, map[string]any{"name": "other"}), "spec", "parentRefs")
		}),
		Entry("an ingress rule of a NetworkPolicy", networkPolicy, func(live *unstructured.Unstructured) {
			rules := field(live, "spec", "ingress").([]any)
			set(live, append(rules, map[string]any{}), "spec", "ingress")
		}),
		Entry("an egress rule of a NetworkPolicy", networkPolicy, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{}}, "spec", "egress")
		}),
		Entry("a rule of a Role", role, func(live *unstructured.Unstructured) {
			rules := live.Object["rules"].([]any)
			set(live, append(rules, map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"*"}}), "rules")
		}),
		Entry("a subject of a RoleBinding", roleBinding, func(live *unstructured.Unstructured) {
			subjects := live.Object["subjects"].([]any)
			set(live, append(subjects, map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}), "subjects")
		}),
	)

	It("is removed from a ClusterRole, an injected aggregation included", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := role.build("", f.namespace)
		desired.SetKind("ClusterRole")
		DeferCleanup(func(ctx SpecContext) { Expect(shared.admin.Delete(ctx, desired)).To(Succeed()) })
		f.apply(ctx, desired, apply.Created)
		before := cached(ctx, desired)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			set(live, []any{map[string]any{"matchLabels": map[string]any{"x": "y"}}}, "aggregationRule", "clusterRoleSelectors")
		})

		f.apply(ctx, desired, apply.Updated)
		after := cached(ctx, desired)
		Expect(after.Object["rules"]).To(Equal(before.Object["rules"]))
		Expect(after.Object).NotTo(HaveKey("aggregationRule"))
	})

	It("is reported when it cannot be undone", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := roleBinding.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		before := cached(ctx, desired)
		set(desired, "another", "roleRef", "name")

		_, err := f.Apply(ctx, desired)
		Expect(err).To(MatchError(ContainSubstring("roleRef")))
		Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
	})

	It("does not include what the server leaves behind of a removed rule", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		cached(ctx, desired)
		f.requests(ctx)
		unstructured.RemoveNestedField(desired.Object, "spec", "rules", "authentication", "tokens")
		unstructured.RemoveNestedField(desired.Object, "spec", "rules", "authentication", "api-keys", "credentials")

		f.apply(ctx, desired, apply.Updated)
		Expect(f.requests(ctx)).To(Equal([]string{"patch", "update(dry)"}))
		Expect(field(live(ctx, desired), "spec", "rules", "authentication", "api-keys")).NotTo(HaveKey("credentials"))
		Expect(field(live(ctx, desired), "spec", "rules", "authentication")).NotTo(HaveKey("tokens"))
	})

	It("stays outside: labels, annotations and the managers of both", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		edit(ctx, desired, func(live *unstructured.Unstructured) {
			live.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue, "team": "a"})
			live.SetAnnotations(map[string]string{"note": "b"})
			set(live, anonymous(), "spec", "rules", "authentication", "open")
		})

		f.apply(ctx, desired, apply.Updated)
		after := cached(ctx, desired)
		Expect(field(after, "spec", "rules", "authentication")).NotTo(HaveKey("open"))
		Expect(after.GetLabels()).To(HaveKeyWithValue("team", "a"))
		Expect(after.GetAnnotations()).To(HaveKeyWithValue("note", "b"))
		Expect(managers(after)).To(ConsistOf(v1alpha1.FieldOwner+"/Apply", "kubectl-edit/Update"))
	})

	It("is an error, and stays, when the desired object itself is invalid", func(ctx SpecContext) {
		f := newFixture(ctx)
		desired := authPolicy.build(f.namespace, "x")
		f.apply(ctx, desired, apply.Created)
		before := cached(ctx, desired)
		set(desired, map[string]any{}, "spec", "defaults")

		result, err := f.Apply(ctx, desired)
		Expect(err).To(MatchError(ContainSubstring("mutually exclusive")))
		Expect(result.Outcome).To(Equal(apply.Failed))
		Expect(live(ctx, desired).GetResourceVersion()).To(Equal(before.GetResourceVersion()))
	})
})
