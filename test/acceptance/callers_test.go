// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

// These specs send requests through the policies that the API server holds.
var _ = Describe("A request for a model that takes every credential", Ordered, func() {
	var (
		w     world
		model types.NamespacedName
	)
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx)
		model, _ = w.openToAll()
	})

	// ok is a request with good answers from everybody who could be asked.
	ok := func(headers map[string]any) enforced.Request {
		r := enforced.Request{Headers: headers, Validate: validKey("anne", "gold", "engineers"), Selected: replies(goldReply(model))}
		switch headers["authorization"] {
		case "Bearer " + jwtToken:
			r.Claims = claimsOf("anne", "engineers")
		case "Bearer " + opaqueToken:
			r.Review = reviewOf("anne", "engineers")
		}
		return r
	}
	xAPIKey := func(value string) map[string]any { return map[string]any{"x-api-key": value} }
	both := func(authorization, value string) map[string]any {
		return with(bearer(authorization), "x-api-key", value)
	}

	DescribeTable("is known by its credential, wherever that stands (A.8, 9.4.70, 9.4.78, 9.4.79, W-12)",
		func(headers map[string]any, by, key string) {
			g := w.gateway(model)
			a := g.Serve(ok(headers))
			Expect(g.Failed).To(BeEmpty())
			Expect(a.By).To(Equal(by))
			if by == "" {
				Expect(a.Status).To(Equal(401))
				return
			}
			Expect(a.Status).To(Equal(200))
			if key == "" {
				Expect(a.Asked).NotTo(HaveKey("apiKeyValidation"))
			} else {
				Expect(a.Asked).To(HaveKeyWithValue("apiKeyValidation", map[string]any{"key": key}))
			}
		},
		Entry("no header at all", nil, "", ""),
		Entry("no credential", map[string]any{"content-type": "application/json"}, "", ""),
		Entry("a key in Authorization", bearer(apiKey), "api-keys", apiKey),
		Entry("a JWT in Authorization", bearer(jwtToken), "oidc-identities", ""),
		Entry("an opaque token in Authorization", bearer(opaqueToken), "openshift-identities", ""),
		Entry("a key without Bearer", map[string]any{"authorization": apiKey}, "", ""),
		Entry("another scheme", map[string]any{"authorization": "Basic c2stb2FpLQ=="}, "", ""),
		Entry("a key in x-api-key", xAPIKey(apiKey), "api-keys-x-api-key", apiKey),
		Entry("a JWT in x-api-key", xAPIKey(jwtToken), "", ""),
		Entry("an opaque token in x-api-key", xAPIKey(opaqueToken), "", ""),
		Entry("something without the prefix of keys in x-api-key", xAPIKey("plain"), "", ""),
		Entry("keys in both: Authorization wins", both(apiKey, otherKey), "api-keys", apiKey),
		Entry("a JWT, and a key in x-api-key", both(jwtToken, apiKey), "api-keys-x-api-key", apiKey),
		Entry("an opaque token, and a key in x-api-key", both(opaqueToken, apiKey), "api-keys-x-api-key", apiKey),
		Entry("a key, and an opaque token in x-api-key", both(apiKey, opaqueToken), "api-keys", apiKey),
		Entry("a JWT, and something in x-api-key", both(jwtToken, "plain"), "oidc-identities", ""),
		Entry("an opaque token, and something in x-api-key", both(opaqueToken, "plain"), "openshift-identities", ""),
	)

	It("meets no expression that fails or yields null, whatever is absent (A.8, A34, A35, B21, W-12, W-13)", func() {
		g := w.gateway(model)
		keyReply := validKey("anne", "gold", "engineers")(nil).(map[string]any)
		for _, headers := range []map[string]any{bearer(apiKey), bearer(jwtToken), bearer(opaqueToken), xAPIKey(apiKey), both(apiKey, otherKey), both(jwtToken, apiKey)} {
			r := ok(headers)
			for _, absent := range []string{"", "valid", "userId", "username", "keyId", "keyName", "groups", "subscription"} {
				r.Validate = replies(without(keyReply, absent))
				g.Serve(r)
			}
			r = ok(headers)
			for _, absent := range []string{"name", "namespace", "phase", "accessAllowed", "resolvedModel", "subscriptionId"} {
				r.Selected = replies(without(goldReply(model), absent))
				g.Serve(r)
				r.Selected = replies(with(goldReply(model), absent, nil))
				g.Serve(r)
			}
			r.Validate, r.Selected = replies(map[string]any{}), replies(map[string]any{})
			g.Serve(r)
			r.Validate, r.Selected = nil, nil
			g.Serve(r)
		}
		for _, absent := range []string{"sub", "preferred_username", "azp", "groups"} {
			r := ok(bearer(jwtToken))
			r.Claims = without(claimsOf("anne", "engineers"), absent)
			g.Serve(r)
		}
		r := ok(bearer(opaqueToken))
		r.Review = map[string]any{"authenticated": true}
		g.Serve(r)
		Expect(g.Failed).To(BeEmpty())
	})

	It("hands headers on that all say something, whoever calls, and no credential to its provider (A34)", func() {
		for _, headers := range []map[string]any{bearer(apiKey), bearer(jwtToken), bearer(opaqueToken), xAPIKey(apiKey)} {
			a := w.gateway(model).Serve(ok(headers))
			Expect(a.Headers).To(Equal(map[string]any{
				"x-maas-username": "anne", "x-maas-group": `["system:authenticated","engineers"]`, "x-maas-subscription": "gold",
				"authorization": "", "x-api-key": "",
			}), "%v", headers)
		}
	})

	It("passes with a key whose reply lacks what is not needed to decide (A35)", func() {
		for _, absent := range []string{"subscription", "userId", "keyId", "keyName"} {
			r := ok(bearer(apiKey))
			r.Validate = replies(without(r.Validate(nil).(map[string]any), absent))
			a := w.gateway(model).Serve(r)
			Expect(a.Status).To(Equal(200), "without %s", absent)
		}
	})

	DescribeTable("is refused when somebody does not vouch for it, rule by rule (W-08, W-11, A30)",
		func(change func(*enforced.Request)) {
			r := ok(bearer(apiKey))
			change(&r)
			Expect(w.gateway(model).Serve(r).Status).To(Equal(403))
		},
		Entry("maas-api does not answer about the key", func(r *enforced.Request) { r.Validate = nil }),
		Entry("the key is not valid", func(r *enforced.Request) { r.Validate = replies(map[string]any{"valid": false}) }),
		Entry("the reply says valid as a text", func(r *enforced.Request) { r.Validate = replies(map[string]any{"valid": "true", "username": "anne"}) }),
		Entry("the key has no user", func(r *enforced.Request) {
			r.Validate = replies(map[string]any{"valid": true, "groups": []any{"engineers"}})
		}),
		Entry("maas-api does not answer about subscriptions", func(r *enforced.Request) { r.Selected = nil }),
		Entry("it answers with nothing", func(r *enforced.Request) { r.Selected = replies(map[string]any{}) }),
		Entry("it answers for another model", func(r *enforced.Request) { r.Selected = replies(with(goldReply(model), "resolvedModel", "llm/other")) }),
		Entry("it does not grant access", func(r *enforced.Request) { r.Selected = replies(with(goldReply(model), "accessAllowed", false)) }),
		Entry("it says nothing of access", func(r *enforced.Request) { r.Selected = replies(without(goldReply(model), "accessAllowed")) }),
		Entry("the subscription waits", func(r *enforced.Request) { r.Selected = replies(with(goldReply(model), "phase", "Pending")) }),
		Entry("the subscription failed", func(r *enforced.Request) { r.Selected = replies(with(goldReply(model), "phase", "Failed")) }),
		Entry("the subscription is going", func(r *enforced.Request) {
			r.Selected = replies(with(goldReply(model), "deletionTimestamp", "2026-01-01T00:00:00Z"))
		}),
		Entry("the cluster takes it for a request without a credential", func(r *enforced.Request) {
			r.Headers = bearer(opaqueToken)
			r.Review = map[string]any{"authenticated": true, "user": map[string]any{"username": "system:anonymous", "groups": []any{"system:unauthenticated"}}}
		}),
		Entry("the caller is no subject of an auth policy", func(r *enforced.Request) { r.Validate = validKey("mallory", "gold", "strangers") }),
	)

	DescribeTable("cannot say who it comes from (9.4.71, W-23)",
		func(header string) {
			for _, credential := range []string{apiKey, jwtToken, opaqueToken} {
				Expect(w.gateway(model).Serve(ok(with(bearer(credential), header, ""))).Status).To(Equal(403), credential)
			}
		},
		Entry("by X-MaaS-Username", "x-maas-username"),
		Entry("by X-MaaS-Group", "x-maas-group"),
	)

	DescribeTable("with a token of the provider is bound to the tenant's client and to no user of the cluster (9.4.70, W-23)",
		func(change map[string]any, status int) {
			r := ok(bearer(jwtToken))
			claims := claimsOf("anne", "engineers")
			maps.Copy(claims, change)
			if claims["azp"] == nil {
				delete(claims, "azp")
			}
			r.Claims = claims
			Expect(w.gateway(model).Serve(r).Status).To(Equal(status))
		},
		Entry("azp names the client", nil, 200),
		Entry("azp names another", map[string]any{"azp": "other"}, 403),
		Entry("azp names another, aud the client", map[string]any{"azp": "other", "aud": clientID}, 403),
		Entry("no azp, aud is the client", map[string]any{"azp": nil, "aud": clientID}, 200),
		Entry("no azp, aud has the client", map[string]any{"azp": nil, "aud": []any{"account", clientID}}, 200),
		Entry("no azp, aud is another", map[string]any{"azp": nil, "aud": "other"}, 403),
		Entry("no azp and no aud", map[string]any{"azp": nil}, 403),
		Entry("the name of a service account", map[string]any{"preferred_username": "system:serviceaccount:apps:bot"}, 403),
		Entry("a group of the cluster gives nothing", map[string]any{"groups": []any{"system:masters"}}, 403),
		Entry("without groups only users are admitted", map[string]any{"groups": nil}, 403),
	)

	It("has a cache entry of its own as soon as it asks something else (9.4.69, W-24)", func() {
		g := w.gateway(model)
		bodies := map[any]any{}
		for i, r := range []enforced.Request{
			token("a", "engineers"), token("a", "engineers", "x"), token("a", "engineers,x"), token("a|engineers"), token("a"), token("aengineers"),
			{Headers: with(bearer(opaqueToken), "x-maas-subscription", "engineers"), Review: reviewOf("a")},
			{Headers: with(bearer(opaqueToken), "x-maas-subscription", "1:a"), Review: reviewOf("a")},
		} {
			a := g.Serve(r)
			Expect(a.Cached["subscription-info"]).NotTo(BeEmpty())
			if body, taken := bodies[a.Cached["subscription-info"]]; taken {
				Expect(a.Asked["subscription-info"]).To(Equal(body), "request %d", i)
			}
			bodies[a.Cached["subscription-info"]] = a.Asked["subscription-info"]
		}
		Expect(len(bodies)).To(BeNumerically(">=", 6))
		Expect(g.Serve(ok(bearer(apiKey))).Cached["apiKeyValidation"]).To(ContainSubstring(apiKey))
	})

	It("asks for the model by its own name, whatever a header says (decides 9.4.85, 9.4.86, W-09)", func() {
		a := w.gateway(model).Serve(ok(with(bearer(apiKey), "x-gateway-model-name", "other")))
		Expect(a.Asked).To(HaveKeyWithValue("subscription-info", HaveKeyWithValue("requestedModel", model.String())))
		Expect(fmt.Sprint(w.authPolicyOf(model).Object["spec"])).NotTo(Or(ContainSubstring("rego"), ContainSubstring("x-gateway-model-name")))
	})

	It("is judged by rules of which each can refuse, few in number (A39, B08)", func() {
		g := w.gateway(model)
		rules := g.Section("authorization")
		Expect(len(rules)).To(BeNumerically("<=", 10))
		refusing := map[string]bool{}
		for _, r := range []enforced.Request{
			ok(with(bearer(apiKey), "x-maas-username", "x")),
			{Headers: bearer(jwtToken), Claims: map[string]any{"iss": providerURL + "/", "preferred_username": "system:x ", "azp": "other"}},
			{Headers: bearer(apiKey)},
		} {
			for _, rule := range g.Denials(r) {
				refusing[rule] = true
			}
		}
		Expect(refusing).To(HaveLen(len(rules)), "%v of %v", refusing, rules)
		Expect(rules).To(ContainElements("auth-valid", "subject-allowed", "subscription-valid", "require-group-membership"))
	})

	It("is answered with texts of maas-api as they are, never with a piece of an expression (B13)", func() {
		r := ok(bearer(apiKey))
		const text = "line one\nline \"two\" \\ ${x} {{y}}"
		r.Selected = replies(map[string]any{"error": "not_found", "message": text})
		g := w.gateway(model)
		a := g.Serve(r)
		Expect(g.Failed).To(BeEmpty())
		Expect([]any{a.Status, a.Message}).To(Equal([]any{403, text}))
	})
})

// without is a copy of an object without a field.
func without(base map[string]any, name string) map[string]any {
	out := maps.Clone(base)
	delete(out, name)
	return out
}

var _ = Describe("The provider of a tenant", func() {
	// settled creates a tenant with a provider and a governed model of it.
	settled := func(w world, provider *v1alpha1.TenantExternalOIDCConfig) (types.NamespacedName, *tenant) {
		GinkgoHelper()
		red := w.tenant("red")
		w.edit(red.registry, func() { red.registry.Spec.OIDC = provider })
		model := builder.ModelRef(w.namespace, "granite").Tenant(red.Name).Obj()
		w.create(red.route("granite").Obj(), builder.ModelServer(w.namespace, "granite"), model)
		red.pair(red.Namespace(), model)
		key := builder.Key(model.Namespace, model.Name)
		w.guarded(key)
		return key, red
	}
	jwt := func(w world, model types.NamespacedName) func() any {
		return func() any {
			GinkgoHelper()
			oidc, _ := w.gateway(model).Rules["authentication"].(map[string]any)["oidc-identities"].(map[string]any)
			return oidc["jwt"]
		}
	}

	It("is known to the policies as long as there is one, with the keys cached as it says (9.4.70, 9.4.72, 9.4.73)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model, red := settled(w, nil)
		Expect(w.authenticators(model)()).To(ConsistOf("api-keys", "openshift-identities"))
		Expect(w.gateway(model).Section("authorization")).NotTo(ContainElement(HavePrefix("oidc-")))
		for ttl, want := range map[int32]int64{0: 300, 30: 30, 600: 600} {
			w.edit(red.registry, func() {
				red.registry.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: providerURL, ClientID: clientID, TTL: ttl}
			})
			Eventually(jwt(w, model)).Should(Equal(map[string]any{"issuerUrl": providerURL, "ttl": want}))
		}
		Expect(w.gateway(model).Section("authorization")).To(ContainElements("oidc-client-bound", "oidc-username-safe"))
		w.edit(red.registry, func() { red.registry.Spec.OIDC = nil })
		Eventually(jwt(w, model)).Should(BeNil())
	})

	It("is the AITenant's, beside which that of an old Tenant says nothing (9.4.74)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model, red := settled(w, &v1alpha1.TenantExternalOIDCConfig{IssuerURL: providerURL, ClientID: clientID})
		old := &v1alpha1.Tenant{ObjectMeta: objectMeta(red.Namespace(), v1alpha1.DefaultTenantConfigName)}
		old.Spec.ExternalOIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://stale.example.com", ClientID: "stale"}
		w.create(old)
		Consistently(jwt(w, model)).WithTimeout(quiet).Should(HaveKeyWithValue("issuerUrl", providerURL))
	})
})
