// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// names are few and look alike, so that random callers are often subjects.
func someNames(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{
		"alice", "Alice", "bob", "engineers", "system:authenticated", "system:masters", "system:serviceaccount:apps:bot", "a,b", "", "ops", "ops/eu", "Zoë",
	}), 0, 4).Draw(t, label)
}

// randomPolicies are auth policies of the model's tenant, of another one, of
// none, and some that are being deleted.
func randomPolicies(t *rapid.T) (policies []model.AuthPolicy, matched []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]) {
	for range rapid.IntRange(1, 3).Draw(t, "policies") {
		p := authPolicy("p", someNames(t, "users"), someNames(t, "groups")...)
		p.Tenant = rapid.SampledFrom([]string{p.Tenant, p.Tenant, "red", ""}).Draw(t, "tenant")
		if rapid.IntRange(0, 9).Draw(t, "deleted") == 0 {
			p.Object.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		policies = append(policies, p)
		matched = append(matched, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: p.Object, Tenant: p.Tenant})
	}
	return policies, matched
}

// randomCaller is a caller as the pipeline and as package entitlement see it.
func randomCaller(t *rapid.T) (call, entitlement.Caller, bool) {
	username, names := rapid.SampledFrom(append(someNames(t, "name"), "alice")).Draw(t, "username"), someNames(t, "memberships")
	claimed := make([]any, 0, len(names))
	for _, name := range names {
		claimed = append(claimed, name)
	}
	var c call
	var who entitlement.Caller
	var err error
	switch rapid.SampledFrom([]string{"key", "claims", "review"}).Draw(t, "kind") {
	case "key":
		reply := changed(keyReply(), map[string]any{"username": username, "groups": claimed})
		c = call{headers: bearer(apiKey), identity: "Bearer " + apiKey, metadata: replies(reply, selectReply())}
		who, err = entitlement.FromKey(username, names, "gold")
	case "claims":
		c = call{headers: bearer(oidcToken), identity: changed(claims(), map[string]any{"preferred_username": username, "sub": "", "groups": claimed}), metadata: replies(nil, selectReply())}
		who, err = entitlement.FromOIDC(username, names)
	default:
		user := map[string]any{"username": username, "groups": append(claimed, "system:authenticated")} // As the cluster says of everybody it knows.
		c = call{headers: bearer(opaque), identity: map[string]any{"user": user}, metadata: replies(nil, selectReply())}
		who, err = entitlement.FromToken(username, names)
	}
	return c, who, err == nil
}

// TestTheGatewayAndMaaSAPIAgreeOnSubjects: the policy lets pass exactly whom the
// function behind the selection's accessAllowed would.
func TestTheGatewayAndMaaSAPIAgreeOnSubjects(t *testing.T) {
	t.Parallel()
	e := parts.Engine(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := guarded()
		var matched []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]
		in.AuthPolicies, matched = randomPolicies(rt)
		out, err := model.Build(in)
		if err != nil {
			rt.Fatalf("Build() error = %v", err)
		}
		if out.AuthPolicy == nil {
			c, who, ok := randomCaller(rt)
			if ok && entitlement.AccessAllowed(who, llm, in.Tenant.Name, matched) {
				rt.Fatalf("%+v may call a model without a policy", c)
			}
			return
		}
		object, err := e.Render(render.Request{ID: model.AuthPolicyTemplate, Namespace: llm.Namespace, Name: "maas-auth-my-model", Values: *out.AuthPolicy})
		if err != nil {
			rt.Fatalf("Render() error = %v", err)
		}
		policy := newAuthorino(t, object)
		for range 3 {
			c, who, ok := randomCaller(rt)
			want := ok && entitlement.AccessAllowed(who, llm, in.Tenant.Name, matched)
			if got := len(policy.denials(c)) == 0; got != want {
				rt.Fatalf("%+v passes: %t, want %t; policies %+v", c, got, want, in.AuthPolicies)
			}
		}
	})
}
