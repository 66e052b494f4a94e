// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// Models of the objects that were stored before today's rules; each spec has
// one of its own, in the platform's namespace for models.
const (
	absurdModel    = "stored-absurd"
	emptyModel     = "stored-empty-limits"
	duplicateModel = "stored-duplicate"
)

// storedByAnEarlierRelease are objects that today's rules refuse.
func storedByAnEarlierRelease() []*unstructured.Unstructured {
	rates := func(limit int64, window string) []any {
		return []any{map[string]any{"limit": limit, "window": window}}
	}
	entry := func(model string, rates []any) map[string]any {
		return map[string]any{"namespace": stage.ModelNamespace, "name": model, "tokenRateLimits": rates}
	}
	subscription := func(name string, spec map[string]any) *unstructured.Unstructured {
		return stored("MaaSSubscription", name, spec)
	}
	owner := map[string]any{"groups": []any{map[string]any{"name": "engineers"}}}
	return []*unstructured.Unstructured{
		subscription("absurd", map[string]any{"owner": owner, "modelRefs": []any{entry(absurdModel, rates(9007199254740991, "9007199254740991d"))}}),
		subscription("empty-limits", map[string]any{"owner": owner, "modelRefs": []any{entry(emptyModel, []any{})}}),
		subscription("duplicate", map[string]any{"owner": owner, "modelRefs": []any{entry(duplicateModel, rates(10, "1m")), entry(duplicateModel, rates(1000, "1m"))}}),
		subscription("no-spec", nil),
		stored("MaaSAuthPolicy", "no-spec", nil),
	}
}

func stored(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	o.SetNamespace(stage.TenantNamespace)
	o.SetName(name)
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

var _ = Describe("An object stored before today's rules", func() {
	// in is the namespace of the models such objects name.
	in := func(ctx SpecContext) world { return world{ctx: ctx, namespace: stage.ModelNamespace} }

	find := func(name string) *v1alpha1.MaaSSubscription {
		return builder.Subscription(stage.TenantNamespace, name).Obj()
	}
	// entries judges an object by its models once the model is there.
	entries := func(w world, s *v1alpha1.MaaSSubscription) func() []v1alpha1.ModelRefStatus {
		return func() []v1alpha1.ModelRefStatus { return reload(w, s).Status.ModelRefStatuses }
	}
	gone := func(w world, o client.Object) func() error {
		return func() error { return on.Admin.Get(w.ctx, client.ObjectKeyFromObject(o), o) }
	}

	It("with an absurd rate is left out alone, says so, and hinders nobody's deletion (A01, A02, W-02)", func(ctx SpecContext) {
		w := in(ctx)
		model := w.governed(absurdModel)
		good := builder.Subscription(stage.TenantNamespace, "beside-absurd").Limit(model, 100, "1m").Obj()
		w.create(good)
		Eventually(w.phase(good)).Should(Equal(v1alpha1.PhaseActive))
		absurd := find("absurd")
		Eventually(entries(w, absurd)).Should(HaveExactElements(And(
			HaveField("Reason", v1alpha1.ReasonInvalidSpec), HaveField("Message", ContainSubstring("spec.modelRefs[0].tokenRateLimits[0]")))))
		Expect(absurd.Status.Phase).To(Equal(v1alpha1.PhaseFailed))
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m"))
		Expect(on.Admin.Delete(w.ctx, good)).To(Succeed())
		Eventually(gone(w, good)).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Expect(on.Admin.Delete(w.ctx, absurd)).To(Succeed())
		Eventually(gone(w, absurd)).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		Eventually(func() any { return w.limitPolicy(model) }).Should(BeNil())
	})

	It("with an empty list of rates is invalid, not unlimited and not 100 per minute, and its callers are refused (W-02, decisions 6 and 8)", func(ctx SpecContext) {
		w := in(ctx)
		model := w.governed(emptyModel)
		empty := find("empty-limits")
		Eventually(entries(w, empty)).Should(HaveExactElements(HaveField("Reason", v1alpha1.ReasonInvalidSpec)))
		Expect(w.limitPolicy(model)).To(BeNil())
		Eventually(func() any { return w.authPolicyOf(model) }).ShouldNot(BeNil())
		Expect(w.gateway(model).Serve(w.asking(token("bob", "engineers"))).Status).To(Equal(403), "left out means refused")
	})

	It("with two entries for one model is refused for it: nobody knows which was meant (A93)", func(ctx SpecContext) {
		w := in(ctx)
		model := w.governed(duplicateModel)
		duplicate := find("duplicate")
		Eventually(entries(w, duplicate)).Should(HaveExactElements(HaveField("Reason", v1alpha1.ReasonInvalidSpec)))
		Expect(w.limitPolicy(model)).To(BeNil())
	})

	It("without a spec is Invalid, gets no finalizer and can be deleted (A15, 9.4.77, 9.5.101)", func(ctx SpecContext) {
		w := in(ctx)
		for _, o := range []client.Object{find("no-spec"), builder.AuthPolicy(stage.TenantNamespace, "no-spec").Obj()} {
			Eventually(w.phase(o)).Should(Equal(v1alpha1.PhaseInvalid))
			Expect(w.ready(o)).To(And(HaveField("Reason", string(v1alpha1.ReasonInvalidSpec)), HaveField("Message", ContainSubstring("spec is required"))))
			Expect(o.GetFinalizers()).To(BeEmpty())
			Expect(on.Admin.Delete(w.ctx, o)).To(Succeed())
			Eventually(gone(w, o)).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		}
	})
})
