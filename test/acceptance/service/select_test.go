// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/contract"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const selectPath = "/internal/v1/subscriptions/select"

// corner is a part of the tenant that one spec has for itself: names of objects that
// nobody else uses, and a group whose name is no part of theirs.
type corner struct{ id, group string }

func newCorner() corner { return corner{unique("c"), unique("crew")} }

// own is a name of the corner.
func (c corner) own(name string) string { return name + "-" + c.id }

func (c corner) model(name string) types.NamespacedName {
	return builder.Key(service.ModelNamespace, c.own(name))
}

// ready is a model that is served.
func (c corner) ready(name string) *builder.ModelRefBuilder {
	return service.ReadyModel(service.ModelNamespace, c.own(name))
}

// subscription is owned by the corner's group.
func (c corner) subscription(name string, models ...string) *builder.SubscriptionBuilder {
	b := builder.Subscription(service.Tenant, c.own(name)).Owners([]string{c.group}, nil)
	for _, m := range models {
		b.Limit(c.model(m), 1000, "1m")
	}
	return b
}

// policy lets the corner's group use models.
func (c corner) policy(name string, models ...string) *builder.AuthPolicyBuilder {
	var keys []types.NamespacedName
	for _, m := range models {
		keys = append(keys, c.model(m))
	}
	return builder.AuthPolicy(service.Tenant, c.own(name), keys...).Subjects([]string{c.group}, nil)
}

// pick asks which subscription a member of the corner's group is charged to.
func (c corner) pick(ctx SpecContext, subscription, model string) service.Selection {
	GinkgoHelper()
	return must(api.Client().Select(ctx, service.SelectRequest{
		Username: c.own("user"), Groups: []string{c.group}, Subscription: subscription, Model: model,
	}))
}

// refusal matches a refusal, which names nothing and grants nothing.
func refusal(code, message string) OmegaMatcher {
	return Equal(service.Selection{Error: code, Message: message})
}

const (
	noneFound   = "no matching subscription found for user"
	notYours    = "access denied to requested subscription"
	severalMore = "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header"
	notIncluded = "subscription does not include the requested model"
)

var _ = Describe("The selection of a subscription", func() {
	It("chooses the only one, for a group or a user, and says all that the gateway needs (E-86, E-94)", func(ctx SpecContext) {
		c := newCorner()
		m := c.model("granite")
		settled(ctx,
			c.ready("granite").Annotate(map[string]string{v1alpha1.AnnotationDisplayName: "Granite"}).Obj(), c.policy("all", "granite").Obj(),
			c.subscription("free").Limit(m, 1000, "1m").Price("0.0000025").Priority(3).
				Annotate(map[string]string{v1alpha1.AnnotationDisplayName: "Free", v1alpha1.AnnotationDescription: "To try"}).
				Metadata(v1alpha1.TokenMetadata{OrganizationID: "org", CostCenter: "cc", Labels: map[string]string{"tier": "free"}}).
				Phase(v1alpha1.PhaseActive).Obj(),
			builder.Subscription(service.Tenant, c.own("hers")).Owners(nil, []string{c.own("alice")}).Unlimited(m).Phase(v1alpha1.PhaseActive).Obj(),
		)
		key := service.Tenant + "/" + c.own("free") + "@" + m.String()
		sum := sha256.Sum256([]byte(key))
		got := c.pick(ctx, "", m.String())
		Expect(got.ModelRefs).To(ConsistOf(And(
			HaveField("Name", m.Name), HaveField("DisplayName", "Granite"), HaveField("Source", "internal"),
			HaveField("TokenRateLimits", HaveLen(1)), HaveField("BillingRate.PerToken", "0.0000025"))))
		got.ModelRefs = nil
		Expect(got).To(Equal(service.Selection{
			Name: c.own("free"), Namespace: service.Tenant, DisplayName: "Free", Priority: 3, OrganizationID: "org", CostCenter: "cc",
			Labels: map[string]string{"tier": "free"}, Phase: "Active", Ready: true, AccessAllowed: true, RateLimitIdentity: "short",
			ResolvedModel: m.String(), SubscriptionKey: key, SubscriptionID: hex.EncodeToString(sum[:])[:16],
		}))
		hers := must(api.Client().Select(ctx, service.SelectRequest{Username: c.own("alice")}))
		Expect(hers).To(And(HaveField("Name", c.own("hers")), HaveField("ResolvedModel", ""), HaveField("SubscriptionID", "")))
	})

	It("does not choose between several, and takes the one that is asked for (E-87, E-88, E-89, E-90, E-91, E-92)", func(ctx SpecContext) {
		c := newCorner()
		settled(ctx,
			c.ready("both").Obj(), c.ready("one").Obj(), c.policy("all", "both", "one").Obj(),
			c.subscription("premium", "both", "one").Priority(100).Phase(v1alpha1.PhaseActive).Obj(),
			c.subscription("free", "both").Phase(v1alpha1.PhaseActive).Obj(),
			builder.Subscription(service.Tenant, c.own("foreign")).Owners([]string{c.own("others")}, nil).Unlimited(c.model("both")).Phase(v1alpha1.PhaseActive).Obj(),
		)
		Expect(c.pick(ctx, "", "")).To(refusal("multiple_subscriptions", severalMore))
		Expect(c.pick(ctx, "", c.model("both").String())).To(refusal("multiple_subscriptions", severalMore), "priority does not break the tie")
		Expect(c.pick(ctx, "", c.model("one").String()).Name).To(Equal(c.own("premium")))
		Expect(c.pick(ctx, "", c.model("none").String())).To(refusal("not_found", noneFound))
		Expect(c.pick(ctx, c.own("free"), c.model("both").String()).Name).To(Equal(c.own("free")))
		Expect(c.pick(ctx, service.Tenant+"/"+c.own("free"), "").Name).To(Equal(c.own("free")))
		Expect(c.pick(ctx, c.own("free"), c.model("one").String())).To(refusal("model_not_in_subscription", notIncluded))
		for _, name := range []string{
			c.own("foreign"), service.Tenant + "/" + c.own("foreign"), "unknown", service.Tenant + "/unknown", "elsewhere/" + c.own("free"),
		} {
			Expect(c.pick(ctx, name, c.model("both").String())).To(refusal("access_denied", notYours),
				"unknown and foreign names have one answer (decision 9): %s", name)
		}
	})

	It("finds a model by its path, its alias or its name, and no other (E-93, E-94, A26, A27, B35)", func(ctx SpecContext) {
		c := newCorner()
		alias := "publishers/" + service.ModelNamespace + "/models/" + c.own("served")
		local := service.ModelStatus(service.ModelNamespace, c.own("granite"))
		local.ResolvedModelAlias = alias
		outside := service.ModelStatus(service.ModelNamespace, c.own("claude"))
		outside.ResolvedModelAlias = c.own("claude-x")
		settled(ctx,
			c.ready("granite").Status(local).Obj(),
			c.ready("claude").Backend(v1alpha1.BackendExternalModel, c.own("target")).Status(outside).Obj(),
			c.policy("all", "granite", "claude").Obj(), c.subscription("free", "granite", "claude").Phase(v1alpha1.PhaseActive).Obj())
		for asked, want := range map[string]string{
			c.model("granite").String(): "granite", alias: "granite", c.own("granite"): "granite", c.own("claude-x"): "claude", c.own("claude"): "claude",
		} {
			got := c.pick(ctx, "", asked)
			Expect(got).To(And(HaveField("ResolvedModel", c.model(want).String()), HaveField("AccessAllowed", true)), asked)
			Expect(got.SubscriptionKey).To(HaveSuffix("@"+c.model(want).String()), "never made of an alias")
		}
		for _, asked := range []string{service.ModelNamespace + "/unknown", "unknown", "elsewhere/" + c.own("granite"), c.own("target"), alias + "/x"} {
			Expect(c.pick(ctx, "", asked)).To(refusal("not_found", noneFound), asked)
			Expect(c.pick(ctx, c.own("free"), asked)).To(refusal("model_not_in_subscription", notIncluded), asked)
		}
	})

	It("tells whether a policy lets the caller use the model, which is no refusal (E-95, E-96, A30)", func(ctx SpecContext) {
		c := newCorner()
		settled(ctx, c.ready("granted").Obj(), c.ready("denied").Obj(), c.policy("one", "granted").Obj(),
			c.subscription("free", "granted", "denied").Phase(v1alpha1.PhaseActive).Obj())
		Expect(c.pick(ctx, "", c.model("granted").String())).To(And(HaveField("Error", ""), HaveField("AccessAllowed", true)))
		Expect(c.pick(ctx, "", c.model("denied").String())).To(And(HaveField("Error", ""), HaveField("Name", c.own("free")), HaveField("AccessAllowed", false)))
		Expect(c.pick(ctx, "", "")).To(HaveField("AccessAllowed", true))
	})

	It("goes by the phase, with a model or without (E-97, E-98)", func(ctx SpecContext) {
		c := newCorner()
		sub := func(name string, phase v1alpha1.Phase) *v1alpha1.MaaSSubscription {
			return builder.Subscription(service.Tenant, c.own(name)).Owners([]string{c.group}, nil).Unlimited(c.model("granite")).Phase(phase).Obj()
		}
		raw := sub("raw", "")
		raw.Status = v1alpha1.MaaSSubscriptionStatus{}
		leaving := sub("leaving", v1alpha1.PhaseActive)
		leaving.Finalizers = []string{"example.com/stay"}
		publish(ctx, c.ready("granite").Obj(), c.policy("all", "granite").Obj(), sub("active", v1alpha1.PhaseActive), sub("degraded", v1alpha1.PhaseDegraded),
			sub("pending", v1alpha1.PhasePending), sub("failed", v1alpha1.PhaseFailed), sub("invalid", v1alpha1.PhaseInvalid), raw, leaving)
		Expect(on.Admin.Delete(ctx, leaving)).To(Succeed())
		settle(ctx)
		model := c.model("granite").String()
		for _, good := range []string{"active", "degraded"} {
			Expect(c.pick(ctx, c.own(good), model)).To(HaveField("AccessAllowed", true), good)
			Expect(c.pick(ctx, c.own(good), "")).To(HaveField("Error", ""), good)
		}
		Expect(c.pick(ctx, c.own("pending"), "")).To(HaveField("Phase", "Pending"))
		for name, phase := range map[string]string{"pending": "Pending", "failed": "Failed", "invalid": "Invalid", "raw": ""} {
			got := c.pick(ctx, c.own(name), model)
			word := phase
			if word == "" {
				word = "unreconciled"
			}
			Expect(got).To(Equal(service.Selection{
				Error: "model_unhealthy", Message: "subscription is in " + word + " phase (allowed: Active, Degraded)", Phase: phase,
			}), name)
			if name != "pending" {
				Expect(c.pick(ctx, c.own(name), "")).To(HaveField("Error", "model_unhealthy"), name)
			}
		}
		for _, asked := range []string{model, ""} {
			Expect(c.pick(ctx, c.own("leaving"), asked)).To(HaveField("Message", "subscription is being deleted"), "an earlier release left it to the gateway")
		}
	})

	It("lets a degraded subscription serve the models whose limits are in force (E-99, E-100, W-13 fixed)", func(ctx SpecContext) {
		c := newCorner()
		elsewhere := unique("other-ns")
		namespace := newNamespace(ctx, elsewhere)
		twin := builder.Key(namespace, c.own("good"))
		settled(ctx, c.ready("good").Obj(), c.ready("bad").Obj(), service.ReadyModel(twin.Namespace, twin.Name).Obj(),
			c.policy("all", "good", "bad").Obj(),
			builder.AuthPolicy(service.Tenant, c.own("twin"), twin).Subjects([]string{c.group}, nil).Obj(),
			c.subscription("free", "good", "bad").Limit(twin, 5, "1m").Phase(v1alpha1.PhaseDegraded, c.model("bad").String(), twin.String()).Obj())
		Expect(c.pick(ctx, "", c.model("good").String())).To(And(HaveField("AccessAllowed", true), HaveField("Phase", "Degraded"), HaveField("Ready", false)))
		notReady := Equal(service.Selection{Error: "model_unhealthy", Message: "subscription rate limiting policies are not ready", Phase: "Degraded"})
		Expect(c.pick(ctx, "", c.model("bad").String())).To(notReady)
		Expect(c.pick(ctx, "", twin.String())).To(notReady, "a model of the same name elsewhere is another one")
	})

	It("never fails: a body it cannot read is a refusal (E-101)", func(ctx SpecContext) {
		outside := contract.Outside(ctx)
		for _, body := range []string{``, `nonsense`, `[]`, `{}`, `{"username":""}`, `{"username":7}`, `{"username":"a","groups":"b"}`, `{"username":"a","groups":[1]}`} {
			got := must(api.Client().Do(outside, http.MethodPost, selectPath, body))
			Expect(got).To(answer(http.StatusOK, `"error":"bad_request"`, "invalid request body: ", `"accessAllowed":false`), body)
			if strings.Contains(body, "nonsense") {
				Expect(string(got.Body)).NotTo(ContainSubstring("nonsense"))
			}
		}
	})

	It("names in its refusals nothing that was asked for (W-18 fixed)", func(ctx SpecContext) {
		for _, hostile := range []string{"<script>", "a\r\nX-Admin: 1", strings.Repeat("x", 300), "a/b/c/d"} {
			got := post(ctx, api.Client(), selectPath, service.SelectRequest{Username: "alice", Subscription: hostile, Model: hostile})
			Expect(got).To(answer(http.StatusOK, `"accessAllowed":false`))
			Expect(string(got.Body)).NotTo(ContainSubstring(hostile))
		}
	})

	It("makes nothing of models of other tenants (W-7 fixed)", func(ctx SpecContext) {
		c := newCorner()
		foreign := service.ModelStatus(service.ModelNamespace, c.own("foreign"))
		foreign.Tenant, foreign.ResolvedModelAlias = "another", c.own("granite")
		ours := service.ModelStatus(service.ModelNamespace, c.own("granite"))
		settled(ctx, c.ready("foreign").Status(foreign).Obj(), c.ready("granite").Status(ours).Obj(),
			c.policy("all", "granite", "foreign").Obj(), c.subscription("free", "granite", "foreign").Phase(v1alpha1.PhaseActive).Obj())
		Expect(c.pick(ctx, "", c.own("granite"))).To(HaveField("ResolvedModel", c.model("granite").String()), "no alias is taken from elsewhere")
		Expect(c.pick(ctx, "", c.model("foreign").String())).To(HaveField("Error", "model_unhealthy"))
	})

	It("follows changes of objects within a second", func(ctx SpecContext) {
		c := newCorner()
		policy := c.policy("all", "granite").Obj()
		settled(ctx, c.ready("granite").Obj(), policy, c.subscription("free", "granite").Phase(v1alpha1.PhaseActive).Obj())
		Expect(c.pick(ctx, "", c.model("granite").String()).AccessAllowed).To(BeTrue())
		Expect(on.Admin.Delete(ctx, policy)).To(Succeed())
		Eventually(func() bool { return c.pick(ctx, "", c.model("granite").String()).AccessAllowed }).WithTimeout(1e9).Should(BeFalse())
	})
})

// newNamespace creates one.
func newNamespace(ctx SpecContext, name string) string {
	GinkgoHelper()
	Expect(on.Admin.Create(ctx, namespaceObject(name))).To(Succeed(), name)
	return name
}
