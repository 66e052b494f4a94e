// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Credentials of the request table.
const (
	apiKey    = "sk-oai-abc123"
	jwtToken  = "aaa.bbb.ccc"
	opaque    = "sha256~opaque"
	issuer    = "https://idp.example.com"
	oidcID    = "maas-client"
	reference = "llm/my-model"
)

// guarded is a policy with everything switched on.
func guarded() model.Input {
	in := input()
	in.AcceptKeyHeader = true
	in.Tenant.OIDC = &tenancy.OIDC{IssuerURL: issuer, ClientID: oidcID, TTLSeconds: 300}
	in.AuthPolicies = []model.AuthPolicy{authPolicy("team", []string{"alice", "system:serviceaccount:apps:bot"}, "engineers")}
	return in
}

func bearer(token string) map[string]any { return map[string]any{"authorization": "Bearer " + token} }

func with(base map[string]any, name string, value any) map[string]any {
	out := maps.Clone(base)
	out[name] = value
	return out
}

func keyReply() map[string]any {
	return map[string]any{
		"valid": true, "userId": "u-1", "username": "alice", "keyId": "k-1", "keyName": "laptop",
		"groups": []any{"engineers", "evil\",\"system:masters"}, "subscription": "gold",
	}
}

func selectReply() map[string]any {
	return map[string]any{
		"name": "gold", "namespace": tenantNamespace, "phase": "Active", "accessAllowed": true, "resolvedModel": reference,
		"subscriptionId": "790b74af224deb46",
	}
}

func claims() map[string]any {
	return map[string]any{"iss": issuer, "sub": "subject-1", "preferred_username": "alice", "azp": oidcID, "groups": []any{"engineers"}}
}

func review() map[string]any {
	return map[string]any{"authenticated": true, "user": map[string]any{
		"username": "system:serviceaccount:apps:bot", "uid": "uid-1", "groups": []any{"system:serviceaccounts", "system:authenticated"},
	}}
}

func replies(key, selected map[string]any) map[string]any {
	out := map[string]any{}
	if key != nil {
		out["apiKeyValidation"] = key
	}
	if selected != nil {
		out["subscription-info"] = selected
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// requests is the table of §3.5: every place a credential can stand in, every
// kind of credential, with optional fields present and absent.
func requests() map[string]call {
	return map[string]call{
		"no credential, no headers at all":         {},
		"no credential":                            {headers: map[string]any{"content-type": "application/json"}},
		"key in Authorization":                     {headers: bearer(apiKey), identity: "Bearer " + apiKey, metadata: replies(keyReply(), selectReply())},
		"key in Authorization, no reply yet":       {headers: bearer(apiKey), identity: "Bearer " + apiKey},
		"key in Authorization, empty replies":      {headers: bearer(apiKey), identity: "Bearer " + apiKey, metadata: replies(map[string]any{}, map[string]any{})},
		"key in Authorization, null fields":        {headers: bearer(apiKey), identity: "Bearer " + apiKey, metadata: replies(map[string]any{"valid": true, "username": nil, "groups": nil, "subscription": nil}, map[string]any{"name": nil, "error": nil, "phase": nil})},
		"key in x-api-key":                         {headers: map[string]any{"x-api-key": apiKey}, identity: apiKey, metadata: replies(keyReply(), selectReply())},
		"key in x-api-key, no reply yet":           {headers: map[string]any{"x-api-key": apiKey}, identity: apiKey},
		"keys in both":                             {headers: with(bearer(apiKey), "x-api-key", "sk-oai-other"), identity: "Bearer " + apiKey, metadata: replies(keyReply(), selectReply())},
		"token in Authorization, key in x-api-key": {headers: with(bearer(jwtToken), "x-api-key", apiKey), identity: apiKey, metadata: replies(keyReply(), selectReply())},
		"JWT":                                    {headers: bearer(jwtToken), identity: claims(), metadata: replies(nil, selectReply())},
		"JWT without optional claims":            {headers: bearer(jwtToken), identity: map[string]any{"iss": issuer, "sub": "s"}, metadata: replies(nil, selectReply())},
		"JWT with odd claims":                    {headers: bearer(jwtToken), identity: map[string]any{"iss": issuer, "sub": 7, "groups": "engineers", "aud": []any{oidcID}, "user": "x"}},
		"opaque token":                           {headers: bearer(opaque), identity: review(), metadata: replies(nil, selectReply())},
		"opaque token without optional fields":   {headers: bearer(opaque), identity: map[string]any{"authenticated": true, "user": map[string]any{}}},
		"opaque token asking for a subscription": {headers: with(bearer(opaque), "x-maas-subscription", "silver"), identity: review(), metadata: replies(nil, selectReply())},
		"something else in x-api-key":            {headers: with(bearer(opaque), "x-api-key", "plain"), identity: review(), metadata: replies(nil, selectReply())},
	}
}

func TestEveryExpressionIsTotal(t *testing.T) {
	t.Parallel()
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	expressions := map[string]bool{}
	collect(policy.policy.Object, expressions)
	if len(expressions) < 25 {
		t.Fatalf("found only %d expressions in the policy", len(expressions))
	}
	for name, request := range requests() {
		for expression := range expressions {
			value, err := policy.eval(expression, request)
			if err != nil {
				t.Errorf("%s: evaluate %.200s: %v", name, expression, err)
			} else if value == nil {
				t.Errorf("%s: %.200s yields null", name, expression)
			}
		}
	}
}

// collect gathers every predicate and expression of an object.
func collect(node any, into map[string]bool) {
	switch typed := node.(type) {
	case map[string]any:
		for key, value := range typed {
			if text, ok := value.(string); ok && (key == "predicate" || key == "expression") {
				into[text] = true
			}
			collect(value, into)
		}
	case []any:
		for _, value := range typed {
			collect(value, into)
		}
	}
}

func TestWhoMayPass(t *testing.T) {
	t.Parallel()
	selected := func(change func(map[string]any)) map[string]any {
		reply := selectReply()
		change(reply)
		return reply
	}
	key := func(change func(map[string]any)) call {
		reply := keyReply()
		change(reply)
		return call{headers: bearer(apiKey), identity: "Bearer " + apiKey, metadata: replies(reply, selectReply())}
	}
	jwt := func(change func(map[string]any)) call {
		c := claims()
		change(c)
		return call{headers: bearer(jwtToken), identity: c, metadata: replies(nil, selectReply())}
	}
	tests := map[string]struct {
		call call
		want []string
	}{
		"a valid key passes":                                  {call: requests()["key in Authorization"]},
		"a valid key in x-api-key passes":                     {call: requests()["key in x-api-key"]},
		"a JWT passes":                                        {call: requests()["JWT"]},
		"a service account passes":                            {call: requests()["opaque token"]},
		"a Degraded subscription passes":                      {call: call{headers: bearer(opaque), identity: review(), metadata: replies(nil, selected(func(r map[string]any) { r["phase"] = "Degraded" }))}},
		"a key the callback refused is denied":                {call: key(func(r map[string]any) { r["valid"] = false }), want: []string{"auth-valid"}},
		"a key nobody answered for is denied":                 {call: requests()["key in Authorization, no reply yet"], want: []string{"auth-valid", "require-group-membership", "subject-allowed", "subscription-valid"}},
		"valid has to be the boolean true":                    {call: key(func(r map[string]any) { r["valid"] = "true" }), want: []string{"auth-valid"}},
		"a key without a user is denied":                      {call: key(func(r map[string]any) { delete(r, "username"); r["groups"] = []any{} }), want: []string{"auth-valid", "subject-allowed"}},
		"no subscription is denied":                           {call: call{headers: bearer(opaque), identity: review(), metadata: replies(nil, map[string]any{"error": "not_found", "message": "no subscription"})}, want: []string{"require-group-membership", "subscription-valid"}},
		"a dead selection callback is denied":                 {call: call{headers: bearer(opaque), identity: review()}, want: []string{"require-group-membership", "subscription-valid"}},
		"replies that are no objects are denied":              {call: call{headers: bearer(apiKey), identity: "Bearer " + apiKey, metadata: map[string]any{"apiKeyValidation": "oops", "subscription-info": []any{1}}}, want: []string{"auth-valid", "require-group-membership", "subject-allowed", "subscription-valid"}},
		"a Pending subscription is denied":                    {call: call{headers: bearer(opaque), identity: review(), metadata: replies(nil, selected(func(r map[string]any) { r["phase"] = "Pending" }))}, want: []string{"subscription-valid"}},
		"a subscription being deleted is denied":              {call: call{headers: bearer(opaque), identity: review(), metadata: replies(nil, selected(func(r map[string]any) { r["deletionTimestamp"] = "2026-01-01T00:00:00Z" }))}, want: []string{"subscription-valid"}},
		"a selection for another model is denied":             {call: call{headers: bearer(opaque), identity: review(), metadata: replies(nil, selected(func(r map[string]any) { r["resolvedModel"] = "llm/other" }))}, want: []string{"subscription-valid"}},
		"access has to be granted in so many words":           {call: call{headers: bearer(opaque), identity: review(), metadata: replies(nil, selected(func(r map[string]any) { delete(r, "accessAllowed") }))}, want: []string{"require-group-membership"}},
		"a client that names itself is denied":                {call: call{headers: with(bearer(opaque), "x-maas-username", "admin"), identity: review(), metadata: replies(nil, selectReply())}, want: []string{"deny-client-identity-headers"}},
		"a client that names its groups is denied":            {call: call{headers: with(bearer(opaque), "x-maas-group", "[]"), identity: review(), metadata: replies(nil, selectReply())}, want: []string{"deny-client-identity-headers"}},
		"a user nobody named is denied":                       {call: jwt(func(c map[string]any) { c["preferred_username"] = "mallory"; delete(c, "groups") }), want: []string{"subject-allowed"}},
		"a member of a named group passes":                    {call: jwt(func(c map[string]any) { c["preferred_username"] = "bob" })},
		"a token of another client is denied":                 {call: jwt(func(c map[string]any) { c["azp"] = "other" }), want: []string{"oidc-client-bound"}},
		"a token of another client is denied despite its aud": {call: jwt(func(c map[string]any) { c["azp"] = "other"; c["aud"] = oidcID }), want: []string{"oidc-client-bound"}},
		"a token without azp needs the client in aud":         {call: jwt(func(c map[string]any) { delete(c, "azp") }), want: []string{"oidc-client-bound"}},
		"a token without azp passes with the client as aud":   {call: jwt(func(c map[string]any) { delete(c, "azp"); c["aud"] = oidcID })},
		"a token without azp passes with the client in aud":   {call: jwt(func(c map[string]any) { delete(c, "azp"); c["aud"] = []any{"account", oidcID} })},
		"a provider cannot speak for a service account":       {call: jwt(func(c map[string]any) { c["preferred_username"] = "system:serviceaccount:apps:bot" }), want: []string{"oidc-username-safe"}},
		"a provider cannot pretend a TokenReview": {call: jwt(func(c map[string]any) {
			c["preferred_username"] = "m"
			delete(c, "groups")
			c["user"] = map[string]any{"username": "alice", "groups": []any{"engineers"}}
		}), want: []string{"subject-allowed"}},
		"an unsafe group is not a member of anything": {call: jwt(func(c map[string]any) { c["preferred_username"] = "m"; c["groups"] = []any{"engineers,x"} }), want: []string{"subject-allowed"}},
	}
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[string]bool{}
			for _, rule := range test.want {
				want[rule] = true
			}
			if diff := cmp.Diff(want, policy.denials(test.call)); diff != "" {
				t.Errorf("refusing rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectionBody(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		call call
		want map[string]any
	}{
		"a key speaks for its owner": {
			call: requests()["key in Authorization"],
			want: map[string]any{"groups": []any{"system:authenticated", "engineers"}, "username": "alice", "requestedSubscription": "gold", "requestedModel": reference},
		},
		"a header beside a key is ignored": {
			call: call{headers: with(bearer(apiKey), "x-maas-subscription", "platinum"), identity: "Bearer " + apiKey, metadata: replies(keyReply(), nil)},
			want: map[string]any{"groups": []any{"system:authenticated", "engineers"}, "username": "alice", "requestedSubscription": "gold", "requestedModel": reference},
		},
		"a token may ask for a subscription": {
			call: requests()["opaque token asking for a subscription"],
			want: map[string]any{"groups": []any{"system:authenticated", "system:serviceaccounts"}, "username": "system:serviceaccount:apps:bot", "requestedSubscription": "silver", "requestedModel": reference},
		},
		"a JWT without groups is still authenticated": {
			call: requests()["JWT without optional claims"],
			want: map[string]any{"groups": []any{"system:authenticated"}, "username": "s", "requestedSubscription": "", "requestedModel": reference},
		},
		"a provider's system groups are dropped": {
			call: call{headers: bearer(jwtToken), identity: with(claims(), "groups", []any{"system:masters", "engineers"})},
			want: map[string]any{"groups": []any{"system:authenticated", "engineers"}, "username": "alice", "requestedSubscription": "", "requestedModel": reference},
		},
	}
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.text(test.call, "metadata", "subscription-info", "http", "body", "expression")
			if diff := cmp.Diff(any(test.want), got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidationBody(t *testing.T) {
	t.Parallel()
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	for name, want := range map[string]string{
		"key in Authorization":                     apiKey,
		"key in x-api-key":                         apiKey,
		"keys in both":                             apiKey,
		"token in Authorization, key in x-api-key": apiKey,
	} {
		got := policy.text(requests()[name], "metadata", "apiKeyValidation", "http", "body", "expression")
		if diff := cmp.Diff(any(map[string]any{"key": want}), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCallbacksAreMadeOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	refused := keyReply()
	refused["valid"] = false
	tests := map[string]struct {
		call                     call
		wantValidate, wantSelect bool
	}{
		"a key is validated, then selected for": {call: requests()["key in Authorization"], wantValidate: true, wantSelect: true},
		"nothing is selected for a refused key": {call: call{headers: bearer(apiKey), identity: "k", metadata: replies(refused, nil)}, wantValidate: true},
		"a token needs no validation":           {call: requests()["opaque token"], wantSelect: true},
	}
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	rules := policy.rules("metadata")
	needed := func(callback string, c call) any {
		when := rules[callback].(map[string]any)["when"].([]any)[0].(map[string]any)
		return policy.must(when["predicate"].(string), c)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := needed("apiKeyValidation", test.call); got != test.wantValidate {
				t.Errorf("validate is needed: %v, want %t", got, test.wantValidate)
			}
			if got := needed("subscription-info", test.call); got != test.wantSelect {
				t.Errorf("select is needed: %v, want %t", got, test.wantSelect)
			}
		})
	}
}

func TestCacheKeysDoNotCollide(t *testing.T) {
	t.Parallel()
	token := func(user, subscription string, groups ...any) call {
		return call{
			headers:  with(bearer(opaque), "x-maas-subscription", subscription),
			identity: map[string]any{"user": map[string]any{"username": user, "groups": groups}},
		}
	}
	calls := []call{
		token("a", "b"), token("ab", ""), token("", "ab"), token("a|b", ""), token("a", "1:b"), token("a1:", "b"),
		token("a", "", "admins", "x"), token("a", "", "admins,x"), token("a", "", "admins"), token("a", "x", "admins"), token("a", "admins"),
	}
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	bodies := map[any]string{}
	for _, c := range calls {
		key := policy.text(c, "metadata", "subscription-info", "cache", "key", "expression")
		body := fmt.Sprint(policy.text(c, "metadata", "subscription-info", "http", "body", "expression"))
		if other, taken := bodies[key]; taken && other != body {
			t.Errorf("key %v names the replies to both\n%s\n%s", key, other, body)
		}
		bodies[key] = body
	}
}

func TestIdentityForRateLimits(t *testing.T) {
	t.Parallel()
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	got := policy.properties(requests()["key in Authorization"])
	want := map[string]any{
		"groups": []any{"system:authenticated", "engineers"}, "groups_str": "system:authenticated,engineers",
		"keyId": "k-1", "keyName": "laptop", "userid": "alice", "subject": "u-1",
		"selected_subscription": "gold", "selected_subscription_id": "790b74af224deb46",
		"selected_subscription_key": tenantNamespace + "/gold@" + reference,
		"subscription_info":         selectReply(), "subscription_error": "", "subscription_error_message": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
}

func TestHeadersForTheModelServer(t *testing.T) {
	t.Parallel()
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	for header, want := range map[string]string{
		"x-maas-username":     "alice",
		"x-maas-group":        `["system:authenticated","engineers"]`,
		"x-maas-subscription": "gold",
	} {
		if got := policy.text(requests()["key in Authorization"], "response", "success", "headers", header, "plain", "expression"); got != want {
			t.Errorf("%s = %v, want %s", header, got, want)
		}
	}
}

func TestDeniedReply(t *testing.T) {
	t.Parallel()
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	refused := call{headers: bearer(opaque), identity: review(), metadata: replies(nil, map[string]any{"error": "not_found", "message": "no subscription"})}
	tests := map[string]struct {
		call                    call
		wantMessage, wantReason string
	}{
		"the selection explains itself":        {refused, "no subscription", "not_found"},
		"without an answer the reply is fixed": {call{headers: bearer(opaque), identity: review()}, "Access denied", "unauthorized"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := policy.text(test.call, "response", "unauthorized", "body", "expression"); got != test.wantMessage {
				t.Errorf("body = %v, want %s", got, test.wantMessage)
			}
			if got := policy.text(test.call, "response", "unauthorized", "message", "expression"); got != test.wantReason {
				t.Errorf("reason = %v, want %s", got, test.wantReason)
			}
		})
	}
}
