// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// FuzzSelect gives callers, requests and stored objects arbitrary texts: it never
// panics, never picks what the caller does not own, and shows nothing of them.
func FuzzSelect(f *testing.F) {
	f.Add("alice", "team,b", "gold", llama, "alice", "team", "Active", int32(1), int64(5), "1m")
	f.Add("", "", "", "", "", "", "", int32(-1), int64(-1), "")
	f.Add("bob", "a,\"", home+"/gold", "/", "", "system:authenticated", "Degraded", int32(0), int64(1)<<62, "9999h")
	f.Add("a/b", "é", "///", "a/b/c", "a/b", "\x00", "<script>", int32(7), int64(1), "m")
	f.Fuzz(func(t *testing.T, user, groups, requested, model, owner, group, phase string, priority int32, limit int64, window string) {
		s := sub("gold").priority(priority).phase(v1alpha1.Phase(phase)).with(func(s *v1alpha1.MaaSSubscription) {
			namespace, name, _ := strings.Cut(model, "/")
			s.Spec.Owner = v1alpha1.Owner{Users: []string{owner}, Groups: groupsOf(group)}
			s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{
				Namespace: namespace, Name: name, TokenRateLimits: []v1alpha1.TokenRateLimit{rate(limit, window)},
			})
		})
		other := sub("hidden-1f3a").user("\x01nobody")
		facts := facts(s, other)
		facts.Models = append(facts.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Tenant: tenant})
		facts.Models[1].Object.Status.ResolvedModelAlias = model
		facts.AuthPolicies = append(facts.AuthPolicies, ours(grant(v1alpha1.Subjects{Users: []string{owner}, Groups: groupsOf(group)}, qwen)))
		x := entitlement.NewIndex(tenant, facts)
		token, tokenErr := entitlement.FromToken(user, strings.Split(groups, ","))
		external, externalErr := entitlement.FromOIDC(user, strings.Split(groups, ","))
		key, keyErr := entitlement.FromKey(user, strings.Split(groups, ","), requested)
		harmless(t, tokenErr, externalErr, keyErr)
		for _, c := range []entitlement.Caller{token, external, key, {}} {
			got, err := x.Select(c, entitlement.Request{Model: model, Subscription: requested})
			minted, mintErr := x.Mint(c, requested)
			visible, visibleErr := x.Visible(c, requested)
			harmless(t, err, mintErr, visibleErr)
			for _, v := range visible {
				owned(t, c, v.Subscription)
			}
			if err == nil {
				owned(t, c, got.Subscription)
			}
			if mintErr == nil {
				owned(t, c, minted)
			}
		}
	})
}

func owned(t *testing.T, c entitlement.Caller, s *v1alpha1.MaaSSubscription) {
	t.Helper()
	if !entitlement.Owns(c, &s.Spec.Owner) {
		t.Errorf("%q in %q does not own %s", c.Username(), c.Groups(), nameOf(s))
	}
}

// harmless expects documented refusals that hold nothing of the objects.
func harmless(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		var refusal entitlement.Refusal
		if err != nil && !errors.As(err, &refusal) {
			t.Errorf("error %v is no refusal", err)
		}
		if strings.ContainsAny(refusal.Message, "\"\x00\n&") || strings.Contains(refusal.Message, "hidden-1f3a") || len(refusal.Message) > 200 {
			t.Errorf("message %q is not constant", refusal.Message)
		}
	}
}
