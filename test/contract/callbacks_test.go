// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/callback"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/contract"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

// These tests let the policies that the operator generates ask the handlers of
// maas-api, and look at what becomes of requests: neither side may change its
// half of the agreement alone.

// outcome is what a client and the limits see of a decision.
type outcome struct {
	Status  int
	Message any
	// Subscription and Username are the headers for the model server.
	Subscription, Username any
	// Counted are the limits, with their counters.
	Counted map[string][]any
}

// agreement is both sides: the generated policies, and the handlers they ask.
type agreement struct {
	rules   map[string]any
	limits  []enforced.Limit
	objects objects
	checker *contract.Checker
}

func newAgreement(t *testing.T) agreement {
	t.Helper()
	_, internal := documents(t)
	a := agreement{objects: newObjects(), checker: contract.New(internal)}
	a.rules, a.limits = policies(t, a.objects)
	return a
}

// request is one that makes the policies ask the handlers.
func (a agreement) request(t *testing.T, headers map[string]any, review any) enforced.Request {
	t.Helper()
	handler := callbackHandler(t, a.checker, snapshots{a.objects.snapshot()})
	return enforced.Request{
		Headers: headers, Review: review,
		Validate: asks(t, handler, validatePath), Selected: asks(t, handler, callback.SelectPath),
	}
}

// decide returns what becomes of a request. No expression may fail on the way.
func (a agreement) decide(t *testing.T, r enforced.Request) outcome {
	t.Helper()
	g := enforced.New(t, a.rules, a.limits)
	answer := g.Serve(r)
	for _, failed := range g.Failed {
		t.Errorf("expression fails: %s", failed)
	}
	out := outcome{
		Status: answer.Status, Message: answer.Message, Counted: answer.Counted,
		Subscription: answer.Headers["x-maas-subscription"], Username: answer.Headers["x-maas-username"],
	}
	if len(out.Counted) == 0 {
		out.Counted = nil
	}
	return out
}

func withKey(key string) map[string]any { return map[string]any{"authorization": "Bearer " + key} }

func withToken(subscription string) map[string]any {
	headers := map[string]any{"authorization": "Bearer sha256~token"}
	if subscription != "" {
		headers["x-maas-subscription"] = subscription
	}
	return headers
}

func reviewed(username string, groups ...any) any {
	groups = append(slices.Clone(groups), "system:authenticated") // As the cluster says of everybody it knows.
	return map[string]any{"authenticated": true, "user": map[string]any{"username": username, "groups": groups}}
}

// shortID is what counters of a subscription with the short identity count by.
func shortID(subscription string) string {
	return entitlement.ShortID(entitlement.ModelScopedKey(builder.Key(tenant, subscription), granite()))
}

func TestKeysAreDecidedByWhatMaasAPIReallyAnswers(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	const denied = "Access denied"
	scoped := tenant + "/old@llm/granite"
	for name, test := range map[string]struct {
		headers map[string]any
		want    outcome
	}{
		"a valid key": {withKey(goldKey), outcome{
			Status: 200, Subscription: "gold", Username: "anne", Counted: map[string][]any{"tokens-100-per-1m-id": {shortID("gold"), "anne"}},
		}},
		"a valid key of a subscription with the former identity": {withKey(oldKey), outcome{
			Status: 200, Subscription: "old", Username: "anne", Counted: map[string][]any{"tokens-100-per-1m": {scoped, "anne"}},
		}},
		"a valid key of a user without groups": {withKey(loneKey), outcome{
			Status: 200, Subscription: "own", Username: "lone", Counted: map[string][]any{"tokens-unlimited": {}},
		}},
		"a valid key in the other header": {map[string]any{"x-api-key": goldKey}, outcome{
			Status: 200, Subscription: "gold", Username: "anne", Counted: map[string][]any{"tokens-100-per-1m-id": {shortID("gold"), "anne"}},
		}},
		"a valid key whose client names another subscription": {
			map[string]any{"authorization": "Bearer " + goldKey, "x-maas-subscription": "old"}, outcome{
				Status: 200, Subscription: "gold", Username: "anne", Counted: map[string][]any{"tokens-100-per-1m-id": {shortID("gold"), "anne"}},
			},
		},
		"a key of a subscription that is not the owner's any more": {withKey(foreignKey), outcome{Status: 403, Message: "access denied to requested subscription"}},
		"a key of a subscription that is gone":                     {withKey(goneKey), outcome{Status: 403, Message: "access denied to requested subscription"}},
		"a key of a subscription that failed":                      {withKey(brokenKey), outcome{Status: 403, Message: "subscription is in Failed phase (allowed: Active, Degraded)"}},
		"an unknown key":                                           {withKey(unknownKey), outcome{Status: 403, Message: denied}},
		"a revoked key":                                            {withKey(revokedKey), outcome{Status: 403, Message: denied}},
		"an expired key":                                           {withKey(expiredKey), outcome{Status: 403, Message: denied}},
		"a key without a subscription":                             {withKey(unboundKey), outcome{Status: 403, Message: denied}},
		"a key that is none":                                       {withKey("sk-oai-none"), outcome{Status: 403, Message: denied}},
		"a key that cannot be looked up":                           {withKey(faultyKey), outcome{Status: 403, Message: denied}},
		"a key too long to be one":                                 {withKey("sk-oai-" + strings.Repeat("a", callback.MaxValidateBody)), outcome{Status: 403, Message: denied}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, a.decide(t, a.request(t, test.headers, nil))); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTokensAreDecidedByWhatMaasAPIReallyAnswers(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	for name, test := range map[string]struct {
		subscription string
		review       any
		want         outcome
	}{
		"a named subscription": {"gold", reviewed("anne", "engineers"), outcome{
			Status: 200, Subscription: "gold", Username: "anne", Counted: map[string][]any{"tokens-100-per-1m-id": {shortID("gold"), "anne"}},
		}},
		"a subscription named with its namespace": {tenant + "/old", reviewed("anne", "engineers"), outcome{
			Status: 200, Subscription: "old", Username: "anne", Counted: map[string][]any{"tokens-100-per-1m": {tenant + "/old@llm/granite", "anne"}},
		}},
		"the only subscription": {"", reviewed("lone"), outcome{
			Status: 200, Subscription: "own", Username: "lone", Counted: map[string][]any{"tokens-unlimited": {}},
		}},
		"several subscriptions": {"", reviewed("anne", "engineers"), outcome{
			Status: 403, Message: "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header",
		}},
		"an unknown subscription":                   {"nothing", reviewed("anne", "engineers"), outcome{Status: 403, Message: "access denied to requested subscription"}},
		"somebody else's subscription":              {"strange", reviewed("anne", "engineers"), outcome{Status: 403, Message: "access denied to requested subscription"}},
		"a name that is none":                       {"a/b/c", reviewed("anne", "engineers"), outcome{Status: 403, Message: "the requested subscription is no name: write <name> or <namespace>/<name>"}},
		"a subscription without the model":          {"elsewhere", reviewed("anne", "engineers"), outcome{Status: 403, Message: "subscription does not include the requested model"}},
		"a subscription that failed":                {"broken", reviewed("anne", "engineers"), outcome{Status: 403, Message: "subscription is in Failed phase (allowed: Active, Degraded)"}},
		"no subscription":                           {"", reviewed("nobody"), outcome{Status: 403, Message: "no matching subscription found for user"}},
		"a subscription without right to the model": {"strange", reviewed("mallory", "strangers"), outcome{Status: 403, Message: "Access denied"}},
		"a user without a name":                     {"gold", reviewed("", "engineers"), outcome{Status: 403, Message: "Access denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, a.decide(t, a.request(t, withToken(test.subscription), test.review))); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusalsOfTheServiceItselfAreRefusals(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	ready, unready := callbackHandler(t, a.checker, snapshots{a.objects.snapshot()}), callbackHandler(t, a.checker, snapshots{})
	for name, answer := range map[string]func() any{
		"no subscriptions read yet": func() any {
			return post(t, unready, callback.SelectPath, `{"username":"anne","groups":["engineers"],"requestedModel":"llm/granite"}`)
		},
		"a body that is no JSON": func() any { return post(t, ready, callback.SelectPath, `{"username":`) },
		"a body without a user":  func() any { return post(t, ready, callback.SelectPath, `{"groups":["engineers"]}`) },
		"an empty body":          func() any { return post(t, ready, callback.SelectPath, ``) },
		"a body that is too large": func() any {
			return post(t, ready, callback.SelectPath, `{"x":"`+strings.Repeat("a", callback.MaxSelectBody)+`"}`)
		},
		"an answer without a model": func() any { return post(t, ready, callback.SelectPath, `{"username":"anne","groups":["engineers"]}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := a.decide(t, enforced.Request{
				Headers: withToken(""), Review: reviewed("anne", "engineers"), Selected: func(map[string]any) any { return answer() },
			})
			if got.Status != http.StatusForbidden {
				t.Errorf("status = %d, want 403", got.Status)
			}
		})
	}
}

// Whatever an answer lacks, expressions must cope: a failing one is skipped in
// some places and denies in others.
func TestNoMemberOfARealAnswerIsNeededForAnExpressionToWork(t *testing.T) {
	t.Parallel()
	a := newAgreement(t)
	asked := a.request(t, nil, nil)
	valid := asked.Validate(map[string]any{"key": goldKey})
	selection := asked.Selected(map[string]any{
		"username": "anne", "groups": []any{"engineers"}, "requestedSubscription": "gold", "requestedModel": "llm/granite",
	})
	for name, reply := range map[string]any{"validate": valid, "select": selection} {
		members := reply.(map[string]any)
		if len(members) < 8 {
			t.Fatalf("%s answers only %v", name, members)
		}
		for member := range members {
			for kind, changed := range map[string]map[string]any{"absent": without(members, member), "null": null(members, member)} {
				t.Run(fmt.Sprintf("%s %s %s", name, member, kind), func(t *testing.T) {
					t.Parallel()
					r := a.request(t, withKey(goldKey), nil)
					answer := func(map[string]any) any { return changed }
					if name == "validate" {
						r.Validate = answer
					} else {
						r.Selected = answer
					}
					a.decide(t, r) // Reports failing expressions.
				})
			}
		}
	}
}

func without(members map[string]any, name string) map[string]any {
	out := maps.Clone(members)
	delete(out, name)
	return out
}

func null(members map[string]any, name string) map[string]any {
	out := maps.Clone(members)
	out[name] = nil
	return out
}

func TestExpressionsReadOnlyWhatAnswersAreDescribedToHave(t *testing.T) {
	t.Parallel()
	_, internal := documents(t)
	rules, _ := policies(t, newObjects())
	text := fmt.Sprint(rules)
	for reply, test := range map[string]struct {
		variable string
		schemas  []string
		// silent are members that only an earlier release sent, and that refuse.
		silent []string
		least  int
	}{
		"validate": {variable: "k", schemas: []string{"ValidKey", "InvalidKey"}, least: 6},
		"select":   {variable: "s", schemas: []string{"Selected", "Refused"}, silent: []string{"deletionTimestamp"}, least: 7},
	} {
		described := slices.Clone(test.silent)
		for _, schema := range test.schemas {
			described = slices.AppendSeq(described, maps.Keys(at(t, internal.Spec, schema).Properties))
		}
		read := make(map[string]bool)
		for _, match := range regexp.MustCompile(`\b`+test.variable+`\.([A-Za-z]+)\b`).FindAllStringSubmatch(text, -1) {
			read[match[1]] = true
		}
		if len(read) < test.least {
			t.Errorf("expressions read only %v of the answer of %s", read, reply)
		}
		for member := range read {
			if !slices.Contains(described, member) {
				t.Errorf("expressions read %q, which %s does not answer", member, reply)
			}
		}
	}
}
