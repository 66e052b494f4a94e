// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tokens of the table beside opaque. The service account's is a JWT too, but
// none of the tenant's provider.
const (
	oidcToken    = jwtToken
	serviceToken = "ddd.eee.fff"
)

// placements are the credentials and where they stand: in Authorization, in
// x-api-key, in both, in neither.
func placements() []world {
	var out []world
	for _, authorization := range []string{"", "Bearer " + apiKey, "Bearer " + oidcToken, "Bearer " + serviceToken, "Bearer " + opaque, "Bearer  " + opaque, "Bearer " + opaque + " x", "Bearer forged", apiKey, "Basic c2stb2FpLQ=="} {
		for _, xAPIKey := range []string{"", "sk-oai-other", oidcToken, opaque, "Bearer " + apiKey} {
			out = append(out, world{authorization: authorization, xAPIKey: xAPIKey})
		}
	}
	return out
}

func changed(base, changes map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, value := range changes {
		if out[name] = value; value == absent {
			delete(out, name)
		}
	}
	return out
}

// absent marks a field to be removed.
const absent = "\x00absent"

// vary returns the base, then one with each of the optional fields absent, null
// and of an odd type, then one with all of them absent.
func vary(base map[string]any, optional ...string) []map[string]any {
	out := []map[string]any{base}
	bare := maps.Clone(base)
	for _, name := range optional {
		for _, value := range []any{absent, nil, 7.0, []any{"x", 7.0, "engineers,x"}} {
			out = append(out, changed(base, map[string]any{name: value}))
		}
		delete(bare, name)
	}
	return append(out, bare, map[string]any{})
}

func keyReplies() []any {
	out := []any{nil, "oops", 7.0}
	for _, reply := range vary(keyReply(), "valid", "userId", "username", "keyId", "keyName", "groups", "subscription") {
		out = append(out, reply)
	}
	return append(out, changed(keyReply(), map[string]any{"valid": false}), changed(keyReply(), map[string]any{"valid": "true"}),
		changed(keyReply(), map[string]any{"username": "bob"}), changed(keyReply(), map[string]any{"username": "mallory", "groups": []any{"system:masters"}}))
}

func selectReplies() []any {
	out := []any{nil, "oops", []any{1.0}}
	full := changed(selectReply(), map[string]any{"error": "", "message": "", "deletionTimestamp": ""})
	for _, reply := range vary(full, "name", "namespace", "phase", "accessAllowed", "resolvedModel", "subscriptionId", "error", "message", "deletionTimestamp") {
		out = append(out, reply)
	}
	for name, value := range map[string]any{
		"phase": "Degraded", "accessAllowed": false, "resolvedModel": "llm/other", "deletionTimestamp": "2026-01-01T00:00:00Z", "error": "not_found", "name": "",
	} {
		out = append(out, changed(full, map[string]any{name: value, "message": "because"}))
	}
	return append(out, changed(full, map[string]any{"phase": "Pending"}), changed(full, map[string]any{"phase": "Failed"}), changed(full, map[string]any{"accessAllowed": "true"}))
}

func providerClaims() []map[string]any {
	out := vary(claims(), "sub", "preferred_username", "azp", "groups", "aud")
	for i := range out {
		out[i] = changed(out[i], map[string]any{"iss": issuer}) // A token without its issuer is not accepted.
	}
	return append(out, changed(claims(), map[string]any{"azp": absent, "aud": oidcID}), changed(claims(), map[string]any{"azp": absent, "aud": []any{"account", oidcID}}),
		changed(claims(), map[string]any{"preferred_username": "system:serviceaccount:apps:bot"}), changed(claims(), map[string]any{"preferred_username": "", "sub": "alice"}),
		changed(claims(), map[string]any{"preferred_username": "m", "groups": []any{"system:masters"}, "user": map[string]any{"username": "alice"}}),
		changed(claims(), map[string]any{"azp": oidcID, "aud": "other"}), changed(claims(), map[string]any{"iss": issuer + "/"}), changed(claims(), map[string]any{"iss": "none"}),
		changed(claims(), map[string]any{"preferred_username": "alice "}), changed(claims(), map[string]any{"preferred_username": "ali\nce"}))
}

func reviews() []map[string]any {
	var out []map[string]any
	for _, user := range vary(review()["user"].(map[string]any), "username", "uid", "groups") {
		out = append(out, map[string]any{"authenticated": true, "user": user})
	}
	return append(out, map[string]any{"authenticated": true}, map[string]any{"authenticated": true, "user": map[string]any{
		"username": "system:anonymous", "groups": []any{"system:unauthenticated"},
	}})
}

// worlds is the table of requests: each placement with everything in order, and
// with each party's answers varied one after the other.
func worlds(s switches) []world {
	var out []world
	add := func(w world) { out = append(out, w) }
	for _, base := range placements() {
		base.claims, base.status, base.validate, base.selected = claims(), review(), keyReply(), selectReply()
		add(base)
		for _, extra := range []map[string]any{
			{"x-maas-subscription": "silver"}, {"x-maas-username": "admin"}, {"x-maas-group": ""}, {"x-maas_subscription": "gold"}, {"x-maas-subscription": "", "x-gateway-model-name": "other"},
		} {
			w := base
			w.headers = extra
			add(w)
		}
		if !slices.Contains([]string{"", "sk-oai-other"}, base.xAPIKey) ||
			!slices.Contains([]string{"", "Bearer " + apiKey, "Bearer " + oidcToken, "Bearer " + opaque}, base.authorization) {
			continue // No credential, or one like these: what follows is the same.
		}
		for _, reply := range selectReplies() {
			w := base
			w.selected = reply
			add(w)
		}
		for _, reply := range keyReplies() {
			w := base
			if w.validate = reply; base.apiKey(s) != "" {
				add(w)
				w.selected = nil
				add(w)
			}
		}
		for _, c := range providerClaims() {
			w := base
			if w.claims = c; base.authorization == "Bearer "+oidcToken {
				add(w)
			}
		}
		for _, status := range reviews() {
			w := base
			if w.status = status; base.authorization == "Bearer "+opaque {
				add(w)
			}
		}
	}
	return out
}

// TestTheRequestTable sends every request of the table through the generated
// policy, as Authorino does, and compares with what the oracle says.
func TestTheRequestTable(t *testing.T) {
	t.Parallel()
	for _, s := range []switches{{}, {keyHeader: true}, {oidc: true}, {keyHeader: true, oidc: true}} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			in := guarded()
			if in.AcceptKeyHeader = s.keyHeader; !s.oidc {
				in.Tenant.OIDC = nil
			}
			spec := in.AuthPolicies[0].Object.Spec.Subjects
			policy := newAuthorino(t, renderAuthPolicy(t, in))
			passed, refused := 0, 0
			for _, w := range worlds(s) {
				want, got := w.judge(s, spec.Users, []string{spec.Groups[0].Name}), policy.serve(w)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{}), cmp.FilterPath(unspecified(want), cmp.Ignore())); diff != "" {
					t.Fatalf("%+v\n(-want +got):\n%s", w, diff)
				}
				if want.status != 200 {
					refused++
					continue
				}
				if passed++; want.credentialless {
					t.Errorf("passes without a valid credential: %+v", w)
				}
			}
			if passed < 20 || refused < 200 {
				t.Errorf("%d requests pass and %d are refused: the table shows too little", passed, refused)
			}
		})
	}
}

// unspecified leaves out what a verdict need not say: texts of a reply of the
// wrong shape, and what only the oracle knows.
func unspecified(want verdict) func(cmp.Path) bool {
	return func(p cmp.Path) bool {
		switch p.String() {
		case "wrongShape", "credentialless":
			return true
		case "message", "reason":
			return want.wrongShape || want.status != 403
		default:
			return false
		}
	}
}

// TestNoExpressionOfTheTableFails evaluates every expression of the policy at
// every step of every request: before anybody is known, while the callbacks
// are out, and at the end. None fails or yields null, unless a whole reply has
// the wrong shape.
func TestNoExpressionOfTheTableFails(t *testing.T) {
	t.Parallel()
	for _, s := range []switches{{}, {keyHeader: true, oidc: true}} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			in := guarded()
			if in.AcceptKeyHeader = s.keyHeader; !s.oidc {
				in.Tenant.OIDC = nil
			}
			policy := newAuthorino(t, renderAuthPolicy(t, in))
			expressions := map[string]bool{}
			collect(policy.policy.Object, expressions)
			done := map[string]bool{}
			for _, w := range worlds(s) {
				if w.judge(s, nil, nil).wrongShape {
					continue
				}
				for _, step := range policy.steps(w) {
					id := fmt.Sprint(step.headers, step.identity, step.metadata)
					if done[id] {
						continue
					}
					done[id] = true
					for expression := range expressions {
						value, err := policy.eval(expression, step)
						if err != nil || value == nil {
							t.Fatalf("%s: %.300s yields %v, error %v", id, expression, value, err)
						}
					}
				}
			}
		})
	}
}

// TestOnlyThePolicyWithTheSwitchKnowsTheHeader: without support a key in
// x-api-key is no credential at all, and nothing of the policy reads it.
func TestOnlyThePolicyWithTheSwitchKnowsTheHeader(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		in := guarded()
		in.AcceptKeyHeader = on
		text := fmt.Sprint(renderAuthPolicy(t, in).Object)
		if got := strings.Contains(text, "x-api-key"); got != on {
			t.Errorf("switch %t: the policy reads x-api-key: %t", on, got)
		}
	}
}

// TestWhatIsAskedHasItsOwnCacheEntry: two requests of the table share a cached
// reply only when they send the same body.
func TestWhatIsAskedHasItsOwnCacheEntry(t *testing.T) {
	t.Parallel()
	s := switches{keyHeader: true, oidc: true}
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	for _, callback := range []string{"apiKeyValidation", "subscription-info"} {
		bodies := map[any]any{}
		for _, w := range worlds(s) {
			if w.judge(s, nil, nil).wrongShape {
				continue
			}
			steps := policy.steps(w)
			step := steps[len(steps)-1]
			key := policy.text(step, "metadata", callback, "cache", "key", "expression")
			body := policy.text(step, "metadata", callback, "http", "body", "expression")
			if other, taken := bodies[key]; taken {
				if diff := cmp.Diff(other, body); diff != "" {
					t.Fatalf("%s: %v names the replies to two bodies (-one +other):\n%s", callback, key, diff)
				}
			}
			bodies[key] = body
		}
	}
}
