// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

func edited(object map[string]any, edit func(map[string]any)) map[string]any {
	out := maps.Clone(object)
	edit(out)
	return out
}

func TestWhoMayCallMaaSAPI(t *testing.T) {
	t.Parallel()
	key := func(edit func(map[string]any)) enforced.Request { return byKey(edited(keyReply(), edit)) }
	jwt := func(edit func(map[string]any)) enforced.Request { return byJWT(edited(claims(), edit)) }
	get := func(headers map[string]any) enforced.Request {
		return enforced.Request{Method: "GET", Path: models, Headers: headers}
	}
	tests := map[string]struct {
		request enforced.Request
		want    int
	}{
		"nobody":                             {get(nil), 401},
		"an empty credential":                {get(map[string]any{"authorization": ""}), 401},
		"a credential of no known form":      {get(map[string]any{"authorization": "Basic YTpi"}), 401},
		"a token that nobody knows":          {get(bearer(opaque)), 401},
		"a valid key":                        {byKey(keyReply()), 200},
		"a valid key in x-api-key":           {enforced.Request{Path: models, Headers: map[string]any{"x-api-key": apiKey}, Validate: replies(keyReply())}, 200},
		"a revoked key":                      {key(func(r map[string]any) { r["valid"] = false }), 403},
		"a key of which nothing is said":     {byKey(map[string]any{}), 403},
		"a key that is valid as a text":      {key(func(r map[string]any) { r["valid"] = "true" }), 403},
		"a key without a name":               {key(func(r map[string]any) { delete(r, "username") }), 403},
		"a key whose validation fails":       {enforced.Request{Path: models, Headers: bearer(apiKey)}, 403},
		"a token of the cluster":             {byToken("system:serviceaccount:apps:bot"), 200},
		"a token without a name":             {byToken(""), 403},
		"a token of the provider":            {byJWT(claims()), 200},
		"one of another client":              {jwt(func(c map[string]any) { c["azp"] = "other" }), 403},
		"one of another client, in its aud":  {jwt(func(c map[string]any) { c["azp"] = "other"; c["aud"] = oidcID }), 403},
		"one without azp":                    {jwt(func(c map[string]any) { delete(c, "azp") }), 403},
		"one without azp, made for us":       {jwt(func(c map[string]any) { delete(c, "azp"); c["aud"] = []any{"account", oidcID} }), 200},
		"a provider's service account":       {jwt(func(c map[string]any) { c["preferred_username"] = "system:serviceaccount:apps:bot" }), 403},
		"a provider's subject of the system": {jwt(func(c map[string]any) { delete(c, "preferred_username"); c["sub"] = "system:admin" }), 403},
		"claims that look like a review":     {jwt(func(c map[string]any) { c["azp"] = "other"; c["user"] = map[string]any{"username": "alice"} }), 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := service(t, input())
			if got := g.Serve(test.request); got.Status != test.want {
				t.Errorf("status = %d, want %d", got.Status, test.want)
			} else if got.Status == 403 && got.Message != "Access denied" {
				t.Errorf("body = %v", got.Message)
			}
			noFailures(t, g)
		})
	}
}

func TestTokensOfAProviderNobodyAskedForAreLeftToTheCluster(t *testing.T) {
	t.Parallel()
	if got := service(t, plain()).Serve(byJWT(claims())); got.Status != 401 {
		t.Errorf("status = %d, want 401", got.Status)
	}
	known := byToken("alice")
	known.Headers = bearer(jwtToken)
	if got := service(t, plain()).Serve(known); got.Status != 200 || got.By != "openshift-identities" {
		t.Errorf("status = %d by %q, want 200 by the cluster", got.Status, got.By)
	}
}

func TestKeysInTheOtherHeaderOnlyWhereTheyAreAccepted(t *testing.T) {
	t.Parallel()
	request := enforced.Request{Path: models, Headers: map[string]any{"x-api-key": apiKey}, Validate: replies(keyReply())}
	if got := service(t, plain()).Serve(request); got.Status != 401 {
		t.Errorf("status = %d, want 401", got.Status)
	}
}

func TestAKeyIsNeverShownToTheCluster(t *testing.T) {
	t.Parallel()
	g := service(t, input())
	for name, headers := range map[string]map[string]any{
		"in Authorization":              bearer(apiKey),
		"in x-api-key":                  {"x-api-key": apiKey},
		"in x-api-key, beside a token":  with(bearer(opaque), "x-api-key", apiKey),
		"in x-api-key, beside a secret": with(bearer(jwtToken), "X-Api-Key", apiKey),
	} {
		// Whoever asks the cluster or the provider would be let in.
		got := g.Serve(enforced.Request{
			Path: models, Headers: headers, Claims: claims(), Review: review("mallory"), Validate: replies(map[string]any{"valid": false}),
		})
		if got.Status != 403 {
			t.Errorf("%s: status = %d by %q, want 403", name, got.Status, got.By)
		}
		if diff := cmp.Diff(any(map[string]any{"key": apiKey}), got.Asked["apiKeyValidation"]); diff != "" {
			t.Errorf("%s: asked about (-want +got):\n%s", name, diff)
		}
	}
	noFailures(t, g)
}

func TestClientsCannotSayWhoTheyAre(t *testing.T) {
	t.Parallel()
	g := service(t, input())
	callers := map[string]enforced.Request{"key": byKey(keyReply()), "JWT": byJWT(claims()), "token": byToken("alice")}
	for caller, request := range callers {
		for _, header := range []string{"x-maas-username", "X-MaaS-Username", "X-MAAS-USERNAME", "x-maas-group", "X-MaaS-Group", "x-Maas-GROUP"} {
			for _, value := range []string{"admin", `["admins"]`, ""} {
				if got := g.Serve(sending(request, header, value)); got.Status != 403 {
					t.Errorf("%s with %s: %q: status = %d, want 403", caller, header, value, got.Status)
				}
			}
		}
	}
	noFailures(t, g)
}

func TestWhatMaaSAPILearnsOfACaller(t *testing.T) {
	t.Parallel()
	bound := `["system:authenticated","engineers"]`
	tests := map[string]struct {
		request enforced.Request
		want    map[string]any
	}{
		"a key": {
			byKey(keyReply()),
			map[string]any{"x-maas-username": "alice", "x-maas-group": bound, "x-maas-subscription": "gold"},
		},
		"a key cannot have another subscription": {
			sending(byKey(keyReply()), "X-MaaS-Subscription", "platinum"),
			map[string]any{"x-maas-username": "alice", "x-maas-group": bound, "x-maas-subscription": "gold"},
		},
		"a token": {
			byToken("bob", "engineers"),
			map[string]any{"x-maas-username": "bob", "x-maas-group": bound, "x-maas-subscription": ""},
		},
		"a token may ask for a subscription": {
			sending(byToken("bob", "engineers"), "X-MaaS-Subscription", "silver"),
			map[string]any{"x-maas-username": "bob", "x-maas-group": bound, "x-maas-subscription": "silver"},
		},
		"a provider gives out no groups of the system, and nobody unsafe ones": {
			byJWT(with(claims(), "groups", []any{"system:masters", `a","b`, "x,y", 7, "engineers", "system:authenticated"})),
			map[string]any{"x-maas-username": "alice", "x-maas-group": bound, "x-maas-subscription": ""},
		},
		"a provider that names nobody but the subject": {
			byJWT(map[string]any{"iss": issuer, "sub": "s-1", "azp": oidcID}),
			map[string]any{"x-maas-username": "s-1", "x-maas-group": `["system:authenticated"]`, "x-maas-subscription": ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := service(t, input())
			got := g.Serve(test.request)
			if got.Status != 200 {
				t.Fatalf("status = %d, want 200", got.Status)
			}
			if diff := cmp.Diff(test.want, got.Headers); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			noFailures(t, g)
		})
	}
}

func TestIdentityForTelemetry(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"groups": []any{"system:authenticated", "engineers"}, "groups_str": "system:authenticated,engineers",
		"keyId": "k-1", "keyName": "laptop", "userid": "alice", "subject": "u-1", "selected_subscription": "gold",
	}
	if diff := cmp.Diff(want, service(t, input()).Serve(byKey(keyReply())).Identity); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	got := service(t, input()).Serve(sending(byToken("bob"), "X-MaaS-Subscription", "anything")).Identity
	if got["selected_subscription"] != "" {
		t.Errorf("what a client asks for becomes a label: %v", got["selected_subscription"])
	}
}

// A key of an earlier release may be bound to nothing; its caller cannot choose.
func TestAnUnboundKeyCannotChooseASubscription(t *testing.T) {
	t.Parallel()
	unbound := byKey(edited(keyReply(), func(r map[string]any) { delete(r, "subscription") }))
	for name, test := range map[string]struct {
		request enforced.Request
		want    int
	}{
		"it asks for none": {unbound, 200},
		"it asks for one":  {sending(unbound, "X-MaaS-Subscription", "gold"), 403},
	} {
		g := service(t, input())
		if got := g.Serve(test.request); got.Status != test.want {
			t.Errorf("%s: status = %d, want %d", name, got.Status, test.want)
		}
		noFailures(t, g)
	}
}

func TestOnlyHealthIsOpen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path string
		want         int
	}{
		"health":                     {"GET", "/maas-api/health", 200},
		"health with a query":        {"GET", "/maas-api/health?x=1", 200},
		"health by another verb":     {"POST", "/maas-api/health", 401},
		"below health":               {"GET", "/maas-api/health/x", 401},
		"another path":               {"GET", "/maas-api/healthz", 401},
		"a path that only ends so":   {"GET", "/v1/models/maas-api/health", 401},
		"a query that looks like it": {"GET", "/maas-api/v1/models?/maas-api/health", 401},
		"models":                     {"GET", "/v1/models", 401},
		"keys":                       {"POST", "/maas-api/v1/api-keys", 401},
	}
	g := service(t, input())
	for name, test := range tests {
		got := g.Serve(enforced.Request{Method: test.method, Path: test.path})
		if got.Status != test.want {
			t.Errorf("%s: status = %d, want %d", name, got.Status, test.want)
		}
		if len(got.Headers) > 0 {
			t.Errorf("%s: nobody has headers %v", name, got.Headers)
		}
	}
	noFailures(t, g)
}

func TestAProviderThatCannotBeUsedHoldsThePolicy(t *testing.T) {
	t.Parallel()
	in := input()
	in.Tenant.OIDC, in.Tenant.OIDCProblem = nil, apperr.User("InvalidOIDC", "AITenant ai-tenants/red: spec.oidc.issuerURL must begin with https.")
	if _, err := access.MaaSAPIPolicy(in); err == nil {
		t.Error("a policy is written as if nobody had asked for a provider")
	} else if _, ok := apperr.AsUser(err); !ok {
		t.Errorf("error = %v, which nobody can resolve", err)
	}
	if _, err := access.Guard(in); err != nil {
		t.Errorf("Guard() error = %v: the Gateway is guarded in any case", err)
	}
}

func TestTheAudiences(t *testing.T) {
	t.Parallel()
	for audience, want := range map[string][]any{
		"https://kubernetes.default.svc": {"https://kubernetes.default.svc", "maas-default-gateway-sa"},
		"maas-default-gateway-sa":        {"maas-default-gateway-sa"},
	} {
		in := input()
		in.Settings.Audience = audience
		got := service(t, in).Rules["authentication"].(map[string]any)["openshift-identities"].(map[string]any)["kubernetesTokenReview"].(map[string]any)["audiences"]
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("audiences (-want +got):\n%s", diff)
		}
	}
}

func TestRepliesAreRememberedAsLongAsTheManagerSays(t *testing.T) {
	t.Parallel()
	in := input()
	if got := service(t, in).Serve(byKey(keyReply())).Cached["apiKeyValidation"]; got != apiKey {
		t.Errorf("cache key = %v, want the key itself", got)
	}
	in.Settings.MetadataCacheTTL = 0
	if got := service(t, in).Serve(byKey(keyReply())); got.Status != 200 || len(got.Cached) != 0 {
		t.Errorf("status = %d, cached %v, want no cache", got.Status, got.Cached)
	}
}
