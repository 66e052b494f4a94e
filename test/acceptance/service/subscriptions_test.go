// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const subscriptionsPath = "/v1/subscriptions"

func namespaceObject(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// user is a client of a member of the corner's group.
func (c corner) user() service.Client { return api.Client().As(c.own("user"), c.group) }

// shown are the names of subscriptions without the corner's suffix.
func (c corner) shown(list []service.Subscription) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, s.Name[:len(s.Name)-len(c.own(""))])
	}
	return out
}

var _ = Describe("The list of subscriptions", func() {
	It("shows those in force, sorted, with what the administrator says of them (E-104, E-105)", func(ctx SpecContext) {
		c := newCorner()
		leaving := c.subscription("leaving", "granite").Phase(v1alpha1.PhaseActive).Obj()
		leaving.Finalizers = []string{"example.com/stay"}
		raw := c.subscription("raw", "granite").Obj()
		publish(ctx, c.ready("granite").Annotate(map[string]string{
			v1alpha1.AnnotationDisplayName: "Granite", v1alpha1.AnnotationDescription: "A model",
		}).Obj(), c.policy("all", "granite").Obj(),
			c.subscription("zebra", "granite").Phase(v1alpha1.PhaseActive).Obj(),
			c.subscription("apple", "granite").Price("0.5").Priority(9).Annotate(map[string]string{v1alpha1.AnnotationDisplayName: "Apple"}).
				Metadata(v1alpha1.TokenMetadata{OrganizationID: "org", CostCenter: "cc", Labels: map[string]string{"tier": "gold"}}).
				Phase(v1alpha1.PhaseDegraded).Obj(),
			c.subscription("pending", "granite").Phase(v1alpha1.PhasePending).Obj(), c.subscription("failed", "granite").Phase(v1alpha1.PhaseFailed).Obj(),
			c.subscription("invalid", "granite").Phase(v1alpha1.PhaseInvalid).Obj(), raw, leaving)
		Expect(on.Admin.Delete(ctx, leaving)).To(Succeed())
		settle(ctx)
		list := must(c.user().Subscriptions(ctx))
		Expect(c.shown(list)).To(Equal([]string{"apple", "zebra"}))
		apple := list[0]
		Expect(apple).To(And(
			HaveField("DisplayName", "Apple"), HaveField("Description", ""), HaveField("Priority", int32(9)), HaveField("OrganizationID", "org"),
			HaveField("CostCenter", "cc"), HaveField("Labels", map[string]string{"tier": "gold"})), "the description is no copy of the name")
		Expect(apple.ModelRefs).To(ConsistOf(And(
			HaveField("Name", c.own("granite")), HaveField("DisplayName", "Granite"), HaveField("Description", "A model"), HaveField("Source", "internal"),
			HaveField("BillingRate.PerToken", "0.5"))))
		raw2 := get(ctx, c.user(), subscriptionsPath)
		Expect(string(raw2.Body)).NotTo(ContainSubstring("namespace"), "no namespace is shown (A70)")
		Expect(string(raw2.Body)).NotTo(ContainSubstring(service.ModelNamespace + "/"))
		Expect(raw2.Header.Get("Cache-Control")).To(Equal("no-store"), "(A66)")
	})

	It("shows of each the models that a policy grants, and none without any (E-106)", func(ctx SpecContext) {
		c := newCorner()
		settled(ctx, c.ready("granted").Obj(), c.ready("denied").Obj(), c.policy("one", "granted").Obj(),
			c.subscription("both", "granted", "denied").Phase(v1alpha1.PhaseActive).Obj(), c.subscription("none", "denied").Phase(v1alpha1.PhaseActive).Obj())
		list := must(c.user().Subscriptions(ctx))
		Expect(c.shown(list)).To(Equal([]string{"both"}))
		Expect(list[0].ModelRefs).To(ConsistOf(HaveField("Name", c.own("granted"))))
	})

	It("of a model shows those that include it, and of them what is granted (E-107, E-108, W-13 fixed)", func(ctx SpecContext) {
		c := newCorner()
		elsewhere := builder.Key(newNamespace(ctx, unique("other-ns")), c.own("twin"))
		settled(ctx, c.ready("twin").Obj(), service.ReadyModel(elsewhere.Namespace, elsewhere.Name).Obj(), c.ready("denied").Obj(),
			builder.AuthPolicy(service.Tenant, c.own("one"), elsewhere).Subjects([]string{c.group}, nil).Obj(),
			c.subscription("here", "twin").Phase(v1alpha1.PhaseActive).Obj(),
			c.subscription("there", "denied").Limit(elsewhere, 5, "1m").Phase(v1alpha1.PhaseActive).Obj(),
			c.subscription("failed").Limit(elsewhere, 5, "1m").Phase(v1alpha1.PhaseFailed).Obj())
		list := must(c.user().SubscriptionsOf(ctx, c.own("twin")))
		Expect(c.shown(list)).To(Equal([]string{"there"}))
		Expect(list[0].ModelRefs).To(HaveLen(1), "the denied model is not shown")
		for _, unknown := range []string{c.own("denied"), "unknown", "publishers%2Fllm%2Fmodels%2Fx"} {
			Expect(get(ctx, c.user(), "/v1/model/"+unknown+"/subscriptions")).To(exactly(http.StatusOK, `[]`))
		}
	})

	It("is empty for nobody, and nobody may keep that (E-109)", func(ctx SpecContext) {
		for _, path := range []string{subscriptionsPath, "/v1/model/x/subscriptions"} {
			got := get(ctx, api.Client(), path)
			Expect(got).To(exactly(http.StatusOK, `[]`))
			Expect(got.Header.Get("Cache-Control")).To(Equal("no-store"))
		}
	})

	It("shows models that do not exist by their name only, and unknown limits as none (E-103, E-110)", func(ctx SpecContext) {
		c := newCorner()
		settled(ctx, c.policy("all", "ghost", "claude").Obj(), c.ready("claude").Backend(v1alpha1.BackendExternalModel, "gpt").Obj(),
			builder.Subscription(service.Tenant, c.own("free")).Owners([]string{c.group}, nil).Limit(c.model("ghost"), 5, "1m").Unlimited(c.model("claude")).
				Phase(v1alpha1.PhaseActive).Obj())
		list := must(c.user().Subscriptions(ctx))
		Expect(list).To(HaveLen(1))
		Expect(list[0].ModelRefs).To(ConsistOf(
			And(HaveField("Name", c.own("ghost")), HaveField("DisplayName", ""), HaveField("Source", "")),
			And(HaveField("Name", c.own("claude")), HaveField("Source", "external"), HaveField("Unlimited", true), HaveField("TokenRateLimits", BeEmpty()))))
	})

	It("of an API key is that of the key's subscription", func(ctx SpecContext) {
		c := newCorner()
		settled(ctx, c.ready("granite").Obj(), c.policy("all", "granite").Obj(),
			c.subscription("one", "granite").Phase(v1alpha1.PhaseActive).Obj(), c.subscription("two", "granite").Phase(v1alpha1.PhaseActive).Obj())
		key := must(c.user().Create(ctx, service.CreateKey{Name: "x", Subscription: c.own("two")}))
		holder := api.Client().AsKey(key, c.own("user"), c.group)
		Expect(c.shown(must(holder.Subscriptions(ctx)))).To(Equal([]string{"two"}))
		Expect(c.shown(must(holder.SubscriptionsOf(ctx, c.own("granite"))))).To(Equal([]string{"two"}))
		unbound := holder.With(service.HeaderSubscription)
		for _, path := range []string{subscriptionsPath, "/v1/model/x/subscriptions"} {
			Expect(get(ctx, unbound, path)).To(answer(http.StatusForbidden, "API key has no subscription bound", "permission_error"))
		}
	})
})
