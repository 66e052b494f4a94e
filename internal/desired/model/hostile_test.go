// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

func limitsRequest(tb testing.TB) render.Request {
	tb.Helper()
	in := input()
	in.Subscriptions = []model.Subscription{short("gold", rate(100, "1m")), legacy("silver", rate(100, "1m"))}
	p := build(tb, in).TokenRateLimitPolicy
	return render.Request{ID: model.TokenRateLimitPolicyTemplate, Namespace: p.Meta.Namespace, Name: p.Meta.Name, Values: *p}
}

// authRequest holds one of everything the template takes, as short as can be:
// the template is on trial here, not the expressions.
func authRequest() render.Request {
	rule := values.NamedExpression{Name: "name", Expression: "expression"}
	callback := values.Callback{URL: "https://maas-api", When: "true", Body: "{}", CacheKey: "key", CacheTTLSeconds: 60}
	return render.Request{ID: model.AuthPolicyTemplate, Namespace: llm.Namespace, Name: "maas-auth-my-model", Values: values.ModelAuthPolicy{
		Meta: values.Meta{
			Name: "maas-auth-my-model", Namespace: llm.Namespace,
			Labels: map[string]string{"label": "value"}, Annotations: map[string]string{"annotation": "text"},
		},
		Target: values.RouteTarget{Name: "route"}, Audiences: []string{"audience"},
		KeyHeader: []values.KeyHeader{{When: "true"}},
		OIDC:      []values.OIDCProvider{{IssuerURL: issuer, TTLSeconds: 300, When: "true"}},
		Validate:  callback, Select: callback,
		Rules:    []values.AuthorizationRule{{Name: "rule", Predicates: []string{"true"}}},
		Identity: []values.NamedExpression{rule}, Headers: []values.NamedExpression{rule},
		Credentials: values.CredentialExpressions{Token: "true"},
		Denied:      values.DeniedReply{Message: "message", Reason: "reason"},
	}}
}

// identityFields must be what was asked for, and cannot be any text.
var identityFields = rendertest.Refused("Meta.Name", "Meta.Namespace", "Meta.Labels{}")

// keyFields become keys, which YAML bounds at 1,024 characters; constants of ours
// fill them.
var (
	limitKeys = rendertest.Refused("Limits[].Name")
	authKeys  = rendertest.Refused("Rules[].Name", "Identity[].Name", "Headers[].Name")
)

func TestNoTextChangesATokenRateLimitPolicy(t *testing.T) {
	t.Parallel()
	rendertest.Hostile(t, parts.Engine(t), limitsRequest(t), identityFields, limitKeys)
}

func TestNoTextChangesAnAuthPolicy(t *testing.T) {
	t.Parallel()
	rendertest.Hostile(t, parts.Engine(t), authRequest(), identityFields, authKeys)
}

// TestSubjectsNeverChangeThePolicy builds the policy for arbitrary users and
// groups: the subjects rule compiles, lets exactly the named user pass, and
// nothing else of the policy differs.
func TestSubjectsNeverChangeThePolicy(t *testing.T) {
	t.Parallel()
	e, benign := parts.Engine(t), renderAuthPolicy(t, withUser("alice"))
	unstructured.RemoveNestedField(benign.Object, "spec", "rules", "authorization", "subject-allowed")
	rapid.Check(t, func(rt *rapid.T) {
		user := rendertest.Text().Draw(rt, "user")
		in := withUser(user)
		in.AuthPolicies[0].Object.Spec.Subjects.Groups[0].Name = rendertest.Text().Draw(rt, "group")
		out, err := model.Build(in)
		if err != nil {
			return // Text that has no CEL literal is refused as a whole.
		}
		object, err := e.Render(render.Request{ID: model.AuthPolicyTemplate, Namespace: llm.Namespace, Name: "maas-auth-my-model", Values: *out.AuthPolicy})
		if err != nil {
			rt.Fatalf("Render() error = %v", err)
		}
		policy := newAuthorino(t, object)
		caller := call{headers: bearer(opaque), identity: map[string]any{"user": map[string]any{"username": user}}, metadata: replies(nil, selectReply())}
		if user != "" && !policy.passes("subject-allowed", caller) {
			rt.Errorf("user %q is refused", user)
		}
		caller.identity = map[string]any{"user": map[string]any{"username": user + "x"}}
		if policy.passes("subject-allowed", caller) {
			rt.Errorf("user %q lets %q pass", user, user+"x")
		}
		unstructured.RemoveNestedField(object.Object, "spec", "rules", "authorization", "subject-allowed")
		if diff := cmp.Diff(benign.Object, object.Object); diff != "" {
			rt.Errorf("the policy differs beyond the subjects rule (-benign +hostile):\n%s", diff)
		}
	})
}

func withUser(user string) model.Input {
	in := input()
	in.AuthPolicies = []model.AuthPolicy{authPolicy("team", []string{user}, "engineers")}
	return in
}

// TestSubscriptionNamesNeverChangeALimit puts arbitrary names of legacy
// members, which stand in the predicate as they are, into a policy.
func TestSubscriptionNamesNeverChangeALimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := input()
		hostile := legacy("gold", rate(100, "1m"))
		hostile.Object.Name = rendertest.Text().Draw(rt, "name")
		in.Subscriptions = []model.Subscription{hostile, legacy("silver", rate(100, "1m"))}
		out, err := model.Build(in)
		if err != nil {
			return // Text that has no CEL literal is refused as a whole.
		}
		if out.TokenRateLimitPolicy == nil || len(out.TokenRateLimitPolicy.Limits) != 1 {
			rt.Fatalf("limits: %v", out.TokenRateLimitPolicy)
		}
		if got := applies(t, in, asked{method: "POST", path: "/llm/my-model/v1/completions", key: "somebody/else@llm/my-model"}); len(got) != 0 {
			rt.Errorf("name %q makes the limits %v apply to others", hostile.Object.Name, got)
		}
	})
}
