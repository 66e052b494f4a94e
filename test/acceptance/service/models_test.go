// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const modelsPath = "/v1/models"

// listed is the answer of a model server.
const listed = http.StatusOK

var _ = Describe("The list of models", func() {
	It("is empty for nobody, with a credential or without (E-111, A59, A66)", func(ctx SpecContext) {
		for _, client := range []service.Client{api.Client(), api.Client().Bearer("whatever")} {
			got := get(ctx, client, modelsPath)
			Expect(got).To(exactly(http.StatusOK, `{"object":"list","data":[]}`))
			Expect(got.Header.Get("Cache-Control")).To(Equal("no-store"))
			checked := must(time.Parse(time.RFC3339, got.Header.Get("X-Access-Checked-At")))
			Expect(checked).To(BeTemporally("~", time.Now(), 5*time.Second))
		}
	})

	It("needs a credential to ask with, which may be in the other header (E-112, W-15 fixed)", func(ctx SpecContext) {
		somebody, _ := member()
		refused := get(ctx, somebody, modelsPath)
		Expect(refused).To(exactly(http.StatusUnauthorized, `{"error":{"message":"Authorization required","type":"authentication_error"}}`))
		Expect(refused.Header.Get("Cache-Control")).To(Equal("no-store"))
		key := newKey(ctx, somebody)
		Expect(get(ctx, somebody.With("X-Api-Key", key.Key).With(service.HeaderSubscription, key.Subscription), modelsPath)).To(answer(http.StatusOK))
	})

	It("is that of one subscription for a key, which must have one (E-113, E-114, E-121)", func(ctx SpecContext) {
		user := unique("owner")
		owner := api.Client().As(user, commonGroup, specialGroup)
		key := must(owner.Create(ctx, service.CreateKey{Name: "x", Subscription: commonName}))
		holder := api.Client().AsKey(key, user, commonGroup, specialGroup)
		Expect(get(ctx, holder, modelsPath)).To(answer(http.StatusOK))
		denied := func(message string) OmegaMatcher {
			return exactly(http.StatusForbidden, `{"error":{"message":"`+message+`","type":"permission_error"}}`)
		}
		for _, none := range [][]string{nil, {""}, {" "}} {
			Expect(get(ctx, holder.With(service.HeaderSubscription, none...), modelsPath)).To(denied("API key has no subscription bound"))
		}
		for _, name := range []string{"unknown", "a/b/c", "../x"} {
			refused := get(ctx, holder.With(service.HeaderSubscription, name), modelsPath)
			Expect(refused).To(denied("access denied to requested subscription"))
			Expect(refused.Header.Get("Cache-Control")).To(Equal("no-store"))
		}
		foreign, _ := member()
		Expect(get(ctx, foreign.Bearer("token").With(service.HeaderSubscription, specialName), modelsPath)).
			To(denied("access denied to requested subscription"), "the same as for an unknown one (A24)")
		Expect(get(ctx, holder.With(service.HeaderSubscription, "unknown", commonName, " "), modelsPath)).
			To(answer(http.StatusOK), "of several values the last that is not blank counts")
	})

	It("is refused once the key's subscription is gone or no longer the owner's (E-122)", func(ctx SpecContext) {
		c := newCorner()
		gone := c.subscription("gone", "x").Phase(v1alpha1.PhaseActive).Obj()
		lost := c.subscription("lost", "x").Phase(v1alpha1.PhaseActive).Obj()
		settled(ctx, gone, lost)
		var holders []service.Client
		for _, s := range []*v1alpha1.MaaSSubscription{gone, lost} {
			key := must(c.user().Create(ctx, service.CreateKey{Name: "x", Subscription: s.Name}))
			holders = append(holders, api.Client().AsKey(key, c.own("user"), c.group))
			Expect(get(ctx, holders[len(holders)-1], modelsPath)).To(answer(http.StatusOK))
		}
		Expect(on.Admin.Delete(ctx, gone)).To(Succeed())
		lost.Spec.Owner.Groups[0].Name = c.own("others")
		Expect(on.Admin.Update(ctx, lost)).To(Succeed())
		settle(ctx)
		for _, holder := range holders {
			Expect(get(ctx, holder, modelsPath)).To(answer(http.StatusForbidden, "access denied to requested subscription"))
		}
	})

	It("is refused for a subscription that is not in force (W-10 fixed: 500)", func(ctx SpecContext) {
		c := newCorner()
		settled(ctx, c.subscription("failed", "x").Phase(v1alpha1.PhaseFailed).Obj())
		Expect(get(ctx, c.holder().With(service.HeaderSubscription, c.own("failed")), modelsPath)).
			To(answer(http.StatusForbidden, "subscription is in Failed phase", "permission_error"))
		Expect(get(ctx, c.holder(), modelsPath)).To(exactly(http.StatusOK, `{"object":"list","data":[]}`), "nothing accessible, no header")
	})

	It("holds what lets the caller in through the gateway right now (E-123 as decided: ids come from custom resources, A72)", func(ctx SpecContext) {
		c := knownCorner()
		var tries atomic.Int32
		renaming := func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"data":[{"id":"one"},{"id":"two"}]}`))
		}
		flaky := func(w http.ResponseWriter, r *http.Request) {
			if tries.Add(1) == 2 { // The first is that of the gateway's readiness.
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			renaming(w, r)
		}
		answers := map[string]http.HandlerFunc{
			"admits": always(listed), "renames": renaming, "nothing": always(http.StatusNoContent), "no-list": always(http.StatusMethodNotAllowed),
			"flaky": flaky, "who": always(http.StatusUnauthorized), "forbids": always(http.StatusForbidden), "missing": always(http.StatusNotFound),
			"elsewhere": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/"+c.own("admits"), http.StatusFound)
			},
		}
		var names []string
		for name := range answers {
			names = append(names, name)
		}
		c.serve(ctx, answers, c.subscription("free", names...).Phase(v1alpha1.PhaseActive).Obj())
		models := must(c.holder().Models(ctx))
		Expect(c.ids(models)).To(Equal([]string{"admits", "flaky", "no-list", "nothing", "renames"}))
		Expect(servers.probes(c.own("admits"))).To(ContainElement(probe{
			model: c.own("admits"), path: modelsPath, authorization: "Bearer " + c.token(), subscription: c.own("free"),
		}), "the credential as it came, and the subscription")
		for _, m := range models {
			Expect(m).To(And(HaveField("Ready", true), HaveField("URL", "https://"+service.Hostname+"/"+m.OwnedBy), HaveField("Kind", "LLMInferenceService")))
			Expect(c.pick(ctx, "", m.ID)).To(And(HaveField("ResolvedModel", m.OwnedBy), HaveField("AccessAllowed", true)), "inference takes what is shown (A27, A69)")
		}
		Expect(series(ctx, api, "maas_api_model_probes_total")).To(BeNumerically(">=", len(answers)))
	})

	It("is that of all subscriptions together, or of the one that is named (E-115, E-116)", func(ctx SpecContext) {
		c := knownCorner()
		c.serve(ctx, map[string]http.HandlerFunc{"both": always(listed), "one": always(listed), "denied": always(listed)},
			c.subscription("silver", "both", "denied").Phase(v1alpha1.PhaseActive).Obj(),
			c.subscription("gold", "both", "one").Annotate(map[string]string{v1alpha1.AnnotationDisplayName: "Gold"}).Phase(v1alpha1.PhaseDegraded).Obj(),
			c.subscription("off", "one").Phase(v1alpha1.PhaseFailed).Obj())
		policy := c.policy("served").Obj()
		Expect(on.Admin.Get(ctx, builder.Key(policy.Namespace, policy.Name), policy)).To(Succeed())
		policy.Spec.ModelRefs = nil
		for _, name := range []string{"both", "one"} {
			policy.Spec.ModelRefs = append(policy.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: service.ModelNamespace, Name: c.own(name)})
		}
		Expect(on.Admin.Update(ctx, policy)).To(Succeed())
		settle(ctx)
		before := len(servers.probes(c.own("denied")))
		models := must(c.holder().Models(ctx))
		Expect(c.ids(models)).To(Equal([]string{"both", "one"}))
		Expect(models[0].Subscriptions).To(HaveExactElements(
			And(HaveField("Name", c.own("gold")), HaveField("DisplayName", "Gold")), HaveField("Name", c.own("silver"))))
		Expect(c.ids(must(c.holder().With(service.HeaderSubscription, c.own("silver")).Models(ctx)))).To(Equal([]string{"both"}))
		Expect(servers.probes(c.own("denied"))).To(HaveLen(before), "what no policy grants is not asked (W-10 fixed)")
	})

	It("holds models of one name in two places apart (E-117, A47)", func(ctx SpecContext) {
		c := knownCorner()
		alias := c.own("served")
		first, second := service.ModelStatus(service.ModelNamespace, c.own("first")), service.ModelStatus(service.ModelNamespace, c.own("second"))
		first.ResolvedModelAlias, second.ResolvedModelAlias = alias, alias
		c.serve(ctx, map[string]http.HandlerFunc{}, c.subscription("free", "first", "second").Phase(v1alpha1.PhaseActive).Obj(),
			c.ready("first").Backend(v1alpha1.BackendExternalModel, "x").Status(first).Obj(),
			c.ready("second").Backend(v1alpha1.BackendExternalModel, "x").Status(second).Obj(), c.policy("all", "first", "second").Obj())
		models := must(c.holder().Models(ctx))
		Expect(models).To(HaveLen(2))
		Expect(models[0].ID).NotTo(Equal(models[1].ID))
		for _, m := range models {
			Expect(c.pick(ctx, "", m.ID).ResolvedModel).To(Equal(m.OwnedBy))
		}
	})

	It("holds external models without asking them, under an id that inference takes (E-118, A27, A50, A69)", func(ctx SpecContext) {
		c := knownCorner()
		status := service.ModelStatus(service.ModelNamespace, c.own("opt-external"))
		status.ResolvedModelAlias, status.BaseURL = c.own("opt"), "https://"+service.Hostname
		settled(ctx, c.ready("opt-external").Backend(v1alpha1.BackendExternalModel, "facebook.opt-125m").Status(status).Obj(),
			c.policy("all", "opt-external").Obj(), c.subscription("free", "opt-external").Phase(v1alpha1.PhaseActive).Obj())
		models := must(c.holder().Models(ctx))
		Expect(models).To(HaveLen(1))
		Expect(models[0]).To(And(HaveField("ID", c.own("opt")), HaveField("Kind", "ExternalModel"), HaveField("OwnedBy", c.model("opt-external").String()),
			HaveField("URL", "https://"+service.Hostname+"/"+c.model("opt-external").String()), HaveField("BaseURL", "https://"+service.Hostname)),
			"both addresses, each with one meaning (A45)")
		Expect(servers.probes(c.own("opt-external"))).To(BeEmpty())
	})

	It("says what the administrator says of a model, and nothing else (E-119, A17)", func(ctx SpecContext) {
		c := knownCorner()
		external := func(name string, annotations map[string]string) *v1alpha1.MaaSModelRef {
			return c.ready(name).Backend(v1alpha1.BackendExternalModel, "x").Annotate(annotations).Obj()
		}
		names := []string{"bare", "broken", "capable", "full"}
		settled(ctx, c.policy("all", names...).Obj(), c.subscription("free", names...).Phase(v1alpha1.PhaseActive).Obj(),
			external("bare", map[string]string{v1alpha1.AnnotationDisplayName: ""}),
			external("broken", map[string]string{v1alpha1.AnnotationModelCapabilities: "[chat", v1alpha1.AnnotationUseCase: "chat"}),
			external("capable", map[string]string{v1alpha1.AnnotationModelCapabilities: `["chat","vision"]`}),
			external("full", map[string]string{
				v1alpha1.AnnotationDisplayName: "Full", v1alpha1.AnnotationDescription: "All of it", v1alpha1.AnnotationUseCase: "chat",
				v1alpha1.AnnotationContextWindow: "128k",
			}))
		models := must(c.holder().Models(ctx))
		Expect(c.ids(models)).To(Equal(names))
		Expect(models[0].Details).To(BeNil())
		Expect(models[1].Details).To(Equal(map[string]any{"genaiUseCase": "chat"}))
		Expect(models[2].Details).To(Equal(map[string]any{"modelCapabilities": []any{"chat", "vision"}}))
		Expect(models[3].Details).To(Equal(map[string]any{
			"displayName": "Full", "description": "All of it", "genaiUseCase": "chat", "contextWindow": "128k",
		}))
	})

	It("leaves out what is not ready and what has no address that clients may be sent to (E-120 as decided, A46, A74)", func(ctx SpecContext) {
		c := knownCorner()
		at := func(name, endpoint string) *v1alpha1.MaaSModelRef {
			status := service.ModelStatus(service.ModelNamespace, c.own(name))
			status.Endpoint = endpoint
			return c.ready(name).Status(status).Obj()
		}
		unready := c.ready("unready").Backend(v1alpha1.BackendExternalModel, "x").Obj()
		unready.Status.Phase = v1alpha1.ModelPhaseUnhealthy
		names := []string{"good", "plain", "inside", "none", "unready"}
		c.serve(ctx, map[string]http.HandlerFunc{"good": always(listed)},
			c.policy("all", names...).Obj(), c.subscription("free", names...).Phase(v1alpha1.PhaseActive).Obj(), unready,
			at("plain", "http://"+service.Hostname+"/llm/plain"), at("inside", "https://granite.llm.svc.cluster.local/llm/inside"), at("none", ""))
		got := get(ctx, c.holder(), modelsPath)
		Expect(got.Header.Get("X-Access-Check")).To(Equal("incomplete"))
		Expect(c.ids(must(c.holder().Models(ctx)))).To(Equal([]string{"good"}))
	})

	It("never asks anybody but the tenant's gateway, whatever an object says (section on trust)", func(ctx SpecContext) {
		c := knownCorner()
		var stolen atomic.Int32
		thief := startThief(&stolen)
		status := service.ModelStatus(service.ModelNamespace, c.own("evil"))
		status.Endpoint = thief
		settled(ctx, c.ready("evil").Status(status).Obj(), c.policy("all", "evil").Obj(), c.subscription("free", "evil").Phase(v1alpha1.PhaseActive).Obj())
		Expect(must(c.holder().Models(ctx))).To(BeEmpty())
		Expect(stolen.Load()).To(BeZero())
	})

	It("is short, not broken, while the gateway has no Service (E-128, E-143 fixed: no start, A73)", func(ctx SpecContext) {
		c := knownCorner()
		c.serve(ctx, map[string]http.HandlerFunc{"local": always(listed)}, c.policy("all", "outside").Obj(),
			c.ready("outside").Backend(v1alpha1.BackendExternalModel, "x").Obj(), c.subscription("free", "local", "outside").Phase(v1alpha1.PhaseActive).Obj())
		begin := time.Now()
		got := get(ctx, peer.Client().As(c.own("user"), c.group).Bearer(c.token()), modelsPath)
		Expect(time.Since(begin)).To(BeNumerically("<", 5*time.Second))
		Expect(got).To(answer(http.StatusOK, c.own("outside")))
		Expect(string(got.Body)).NotTo(ContainSubstring(c.own("local")))
		Expect(got.Header.Get("X-Access-Check")).To(Equal("incomplete"))
	})
})
