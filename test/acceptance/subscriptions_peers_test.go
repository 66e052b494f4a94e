// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// enforced tells whether Kuadrant enforces a model's AuthPolicy, for Eventually.
func (w world) enforced(model types.NamespacedName) func() bool {
	return func() bool {
		GinkgoHelper()
		policy := w.authPolicyOf(model)
		if policy == nil {
			return false
		}
		conditions, _, err := unstructured.NestedSlice(policy.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		for _, c := range conditions {
			if condition := c.(map[string]any); condition["type"] == "Enforced" && condition["status"] == "True" {
				return true
			}
		}
		return false
	}
}

// metrics adds up the operator's series of a name whose labels contain a text.
func (w world) metrics(name, labels string) float64 {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(w.ctx, http.MethodGet, on.Operator.MetricsURL(), http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for line := range strings.Lines(string(body)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(series, name+"{") || !strings.Contains(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		Expect(err).NotTo(HaveOccurred())
		total += number
	}
	return total
}

var _ = Describe("Several subscriptions", func() {
	It("are looked at when their model's limits change; those of other models are left in peace (9.5.89)", func(ctx SpecContext) {
		w := newWorld(ctx)
		a, b := w.governed("a"), w.governed("b")
		ofA, ofB := w.subscription("of-a").Limit(a, 100, "1m").Obj(), w.subscription("of-b").Limit(b, 100, "1m").Obj()
		w.create(ofA, ofB)
		Eventually(w.phase(ofA)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(w.phase(ofB)).Should(Equal(v1alpha1.PhaseActive))
		looks := func() float64 {
			return w.metrics("controller_runtime_reconcile_total", `controller="subscription",result="success"`)
		}
		version := reload(w, ofB).ResourceVersion
		var before float64
		Eventually(func() bool { was := before; before = looks(); return was == before }).WithPolling(quiet).Should(BeTrue(), "all is quiet")
		w.annotate(w.limitPolicy(a), "false")
		Eventually(w.modelCondition(a, v1alpha1.ConditionPoliciesApplied)).Should(HaveField("Reason", string(v1alpha1.ReasonOptedOut)))
		Consistently(func() float64 { return looks() - before }).WithTimeout(quiet).Should(BeNumerically("<=", 3), "looks at of-a alone")
		Expect(reload(w, ofB).ResourceVersion).To(Equal(version))
	})

	It("of one priority are told so, within their namespace only (9.5.90)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		red := w.tenant("red")
		const priority = 815
		one, two := w.subscription("one").Limit(model, 1, "1m").Priority(priority).Obj(), w.subscription("two").Limit(model, 2, "1m").Priority(priority).Obj()
		far := builder.Subscription(red.Namespace(), "far").Limit(model, 3, "1m").Priority(priority).Obj()
		verdict := func(s *v1alpha1.MaaSSubscription) func() string {
			return func() string { return w.condition(reload(w, s), v1alpha1.ConditionSpecPriorityDuplicate).Reason }
		}
		w.create(one, far)
		Eventually(verdict(one)).Should(Equal(string(v1alpha1.ReasonNoDuplicatePeers)))
		Eventually(verdict(far)).Should(Equal(string(v1alpha1.ReasonNoDuplicatePeers)))
		w.create(two)
		Eventually(verdict(one)).Should(Equal(string(v1alpha1.ReasonSharedPriority)))
		Eventually(verdict(two)).Should(Equal(string(v1alpha1.ReasonSharedPriority)))
		Expect(verdict(far)()).To(Equal(string(v1alpha1.ReasonNoDuplicatePeers)))
		w.edit(two, func() { two.Spec.Priority++ })
		Eventually(verdict(one)).Should(Equal(string(v1alpha1.ReasonNoDuplicatePeers)))
		Eventually(verdict(two)).Should(Equal(string(v1alpha1.ReasonNoDuplicatePeers)))
	})

	It("have the published short ids, apart for equal names in two namespaces (A.3, decides 9.5.96)", func(ctx SpecContext) {
		w := world{ctx: context.WithoutCancel(ctx), namespace: stage.ModelNamespace}
		model := w.governed("my-model")
		red := newWorld(ctx).tenant("red")
		foreign := builder.Subscription(red.Namespace(), "gold").Limit(model, 100, "1m").Obj()
		w.create(foreign)
		for name, id := range map[string]string{"gold": "790b74af224deb46", "silver": "347e29af6f94d1cd", "my-model-premium-subscription": "e58e32b1f7d0f274"} {
			s := builder.Subscription(stage.TenantNamespace, name).Limit(model, 100, "1m").Obj()
			w.create(s)
			DeferCleanup(func() { w.removeAll(s) })
			Eventually(w.limits(model)).Should(HaveExactElements(HaveField("Predicate", ContainSubstring("%q", id))), name)
		}
		Eventually(w.phase(foreign)).Should(Equal(v1alpha1.PhaseFailed))
		Expect(w.limits(model)()).To(HaveExactElements(HaveField("Predicate", Not(ContainSubstring(shortID(foreign, model))))))
	})

	It("keep their identity through reconciles, and through a crash right after it was told (A.4)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.governed("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		identity := func() v1alpha1.RateLimitIdentity { return reload(w, gold).Status.RateLimitIdentity }
		w.create(gold)
		Eventually(identity).WithPolling(1).ShouldNot(BeEmpty())
		Expect(on.Operator.Kill()).To(Succeed())
		Expect(on.Operator.Start(w.ctx)).To(Succeed())
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		Expect(identity()).To(Equal(v1alpha1.RateLimitIdentityShort))
		w.edit(gold, func() { gold.Spec.ModelRefs[0].TokenRateLimits[0].Limit = 200 })
		Eventually(w.limitNames(model)).Should(ConsistOf("tokens-200-per-1m"))
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		Expect(identity()).To(Equal(v1alpha1.RateLimitIdentityShort))
	}, NodeTimeout(startTimeout))
})

var _ = Describe("A route whose parent is not the tenant's Gateway", func() {
	DescribeTable("gives a subscription nothing that would be enforced (9.5.103)",
		func(ctx SpecContext, change func(*gwapiv1.ParentReference), says string, active bool) {
			w := newWorld(ctx)
			route, granite := w.modelRoute("granite").Obj(), builder.Key(w.namespace, "granite")
			change(&route.Spec.ParentRefs[0])
			w.create(route, builder.ModelServer(w.namespace, "granite"), builder.ModelRef(w.namespace, "granite").Obj())
			_, paid := w.pair(granite)
			Eventually(w.modelSays(granite)).Should(Equal(says))
			if active {
				Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
				return
			}
			Eventually(func() []v1alpha1.TokenRateLimitStatus { return reload(w, paid).Status.TokenRateLimitStatuses }).Should(
				HaveExactElements(HaveField("Ready", false)))
			Consistently(w.phase(paid)).WithTimeout(quiet).ShouldNot(Equal(v1alpha1.PhaseActive))
		},
		Entry("a Gateway, said in so many words", func(p *gwapiv1.ParentReference) {
			p.Group, p.Kind = new(gwapiv1.Group("gateway.networking.k8s.io")), new(gwapiv1.Kind("Gateway"))
		}, "Ready/Reconciled", true),
		Entry("a Gateway by default", func(p *gwapiv1.ParentReference) { p.Group, p.Kind = nil, nil }, "Ready/Reconciled", true),
		Entry("a Service of its name", func(p *gwapiv1.ParentReference) {
			p.Group, p.Kind = new(gwapiv1.Group("")), new(gwapiv1.Kind("Service"))
		}, "Failed/RouteNotAccepted", false),
		Entry("a Gateway of another group", func(p *gwapiv1.ParentReference) { p.Group = new(gwapiv1.Group("example.com")) }, "Failed/RouteNotAccepted", false),
	)
})

var _ = Describe("The operator", func() {
	It("tells how much each gateway has to carry (B06, W-42)", func(ctx SpecContext) {
		w := newWorld(ctx)
		red := w.tenant("red")
		labels := `gateway_name="` + red.Gateway.Name + `"`
		Expect(w.metrics("maas_gateway_policies", labels)).To(BeZero())
		for _, name := range []string{"a", "b"} {
			model := builder.ModelRef(w.namespace, name).Tenant(red.Name).Obj()
			w.create(red.route(name).Obj(), builder.ModelServer(w.namespace, name), model)
			key := client.ObjectKeyFromObject(model)
			w.create(builder.AuthPolicy(red.Namespace(), name, key).Obj(), builder.Subscription(red.Namespace(), name).Limit(key, 7, "1m").Obj())
		}
		Eventually(func() float64 { return w.metrics("maas_gateway_policies", labels) }).Should(BeEquivalentTo(4))
		Expect(w.metrics("maas_gateway_limits", labels)).To(BeEquivalentTo(2))
		Expect(w.metrics("maas_gateway_policy_bytes", labels)).To(BeNumerically(">", 10_000))
	})

	It("never asks for Secrets (B18)", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.external("gpt")
		w.create(builder.ExternalModel(w.namespace, "gpt"))
		Eventually(w.modelSays(builder.Key(w.namespace, "gpt"))).Should(Equal("Pending/RouteNotFound"))
		events, err := on.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.ByResource("", "secrets"))
		Expect(err).NotTo(HaveOccurred())
		Expect(events).To(BeEmpty())
	})
})
