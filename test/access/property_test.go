// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

// world is one request and what everybody says whom the gateway asks.
type world struct {
	headers                  map[string]any
	claims, review, validate map[string]any // Nil: not known there, or no answer.
}

// anything is what an optional field may hold.
func anything() *rapid.Generator[any] {
	return rapid.SampledFrom([]any{
		nil, "", "alice", "bob ", "\u00a0eve", "system:admin", "a\nb", true, 7.0, []any{}, []any{"engineers", "system:masters", "a,b", 7.0}, map[string]any{"a": "b"}, oidcID, "other", []any{oidcID},
	})
}

// object has some of the fields; a field that is there may be null.
func object(rt *rapid.T, label string, fields ...string) map[string]any {
	out := map[string]any{}
	for _, name := range fields {
		if rapid.Bool().Draw(rt, label+"."+name) {
			out[name] = anything().Draw(rt, label+"."+name)
		}
	}
	return out
}

func draw(rt *rapid.T) world {
	w := world{headers: map[string]any{}}
	for _, name := range []string{"x-maas-username", "X-MaaS-Group", "X-Maas-Subscription", "x_maas_username", "X-MaaS_Subscription"} {
		if rapid.IntRange(0, 5).Draw(rt, name) == 0 {
			w.headers[name] = rapid.SampledFrom([]string{"", "admin", "gold"}).Draw(rt, name)
		}
	}
	credentials := rapid.SampledFrom([]string{"-", "", "Bearer " + apiKey, "Bearer " + jwtToken, "Bearer " + opaque, "bearer " + apiKey, "Bearer ", apiKey})
	if a := credentials.Draw(rt, "authorization"); a != "-" {
		w.headers["Authorization"] = a
	}
	if k := rapid.SampledFrom([]string{"-", "-", apiKey, "other"}).Draw(rt, "x-api-key"); k != "-" {
		w.headers["X-Api-Key"] = k
	}
	if rapid.Bool().Draw(rt, "known to the provider") {
		w.claims = object(rt, "claims", "preferred_username", "sub", "groups", "azp", "aud", "user")
		w.claims["iss"] = rapid.SampledFrom([]any{issuer, issuer, issuer, issuer + "/", "none"}).Draw(rt, "iss")
	}
	if rapid.Bool().Draw(rt, "known to the cluster") {
		w.review = map[string]any{"authenticated": true}
		if rapid.Bool().Draw(rt, "with a user") {
			w.review["user"] = object(rt, "user", "username", "uid", "groups")
		}
	}
	if rapid.Bool().Draw(rt, "validated") {
		w.validate = object(rt, "key", "username", "userId", "groups", "keyId", "subscription")
		w.validate["valid"] = rapid.SampledFrom([]any{true, true, true, false, "true", nil}).Draw(rt, "valid")
	}
	return w
}

func (w world) request() enforced.Request {
	r := enforced.Request{Method: "GET", Path: models, Headers: w.headers}
	if w.claims != nil {
		r.Claims = w.claims
	}
	if w.review != nil {
		r.Review = w.review
	}
	if w.validate != nil {
		r.Validate = replies(w.validate)
	}
	return r
}

func text(object map[string]any, name string) string {
	value, _ := object[name].(string)
	return value
}

// caller is who a request comes from.
type caller struct {
	username, subscription string
	passes                 bool // Somebody vouches for the caller, and nothing in particular is wrong.
}

// caller reads who is calling the way a person would who knows no CEL; nil is nobody.
func (w world) caller() *caller {
	authorization, _ := w.headers["Authorization"].(string)
	token, isBearer := strings.CutPrefix(authorization, "Bearer ")
	inHeader, _ := w.headers["X-Api-Key"].(string)
	asked, _ := w.headers["X-Maas-Subscription"].(string)
	switch {
	case isBearer && strings.HasPrefix(token, "sk-oai-"), strings.HasPrefix(inHeader, "sk-oai-"):
		subscription := text(w.validate, "subscription")
		return &caller{text(w.validate, "username"), subscription, w.validate["valid"] == true && (subscription != "" || asked == "")}
	case !isBearer || token == "" || strings.Contains(token, " "):
		return nil
	case token == jwtToken && w.claims != nil:
		username := text(w.claims, "preferred_username")
		if username == "" {
			username = text(w.claims, "sub")
		}
		return &caller{username, asked, w.claims["iss"] == issuer && bound(w.claims) && !strings.HasPrefix(username, "system:")}
	case w.review != nil:
		user, _ := w.review["user"].(map[string]any)
		groups, _ := user["groups"].([]any)
		return &caller{text(user, "username"), asked, slices.Contains(groups, any("system:authenticated"))}
	default:
		return nil
	}
}

// bound tells whether a provider's token was issued for the tenant's client.
func bound(claims map[string]any) bool {
	if azp, there := claims["azp"]; there {
		return azp == oidcID
	}
	audience, _ := claims["aud"].([]any)
	return claims["aud"] == oidcID || slices.Contains(audience, any(oidcID))
}

// judge says what has to become of a request.
func (w world) judge() (status int, username, subscription string) {
	c := w.caller()
	if c == nil {
		return 401, "", ""
	}
	_, namesItself := w.headers["x-maas-username"]
	_, namesItsGroups := w.headers["X-MaaS-Group"]
	_, misspells := w.headers["x_maas_username"]
	_, misspellsToo := w.headers["X-MaaS_Subscription"]
	arrives := c.username != "" && c.username == strings.TrimSpace(c.username) && !strings.ContainsFunc(c.username, unicode.IsControl)
	if !c.passes || !arrives || namesItself || namesItsGroups || misspells || misspellsToo {
		return 403, "", ""
	}
	return 200, c.username, c.subscription
}

// TestAnyRequest decides requests of every shape as the oracle does, and no expression
// ever fails.
func TestAnyRequest(t *testing.T) {
	t.Parallel()
	g := service(t, input())
	rapid.Check(t, func(rt *rapid.T) {
		w := draw(rt)
		status, username, subscription := w.judge()
		got := g.Serve(w.request())
		if got.Status != status {
			rt.Fatalf("status = %d, want %d: %+v", got.Status, status, w)
		}
		if status == 200 && (got.Headers["x-maas-username"] != username || got.Headers["x-maas-subscription"] != subscription) {
			rt.Fatalf("headers %v, want %q and %q: %+v", got.Headers, username, subscription, w)
		}
		if len(g.Failed) > 0 {
			rt.Fatalf("failed: %v: %+v", g.Failed, w)
		}
	})
}
