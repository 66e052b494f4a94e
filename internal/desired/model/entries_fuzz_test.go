// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// FuzzLimits gives a model two subscriptions of any rates beside any living
// limits: each is either refused with a reason or in exactly one limit, under
// the name of its rates, and what is built is built again.
func FuzzLimits(f *testing.F) {
	f.Add(int64(100), "1m", int64(100), "1m", true, "tokens-100-per-1m", "auth.identity.selected_subscription_id")
	f.Add(int64(100), "1m", int64(9), "60s", false, "tokens-100-per-1m-id", "")
	f.Add(int64(0), "8785h", int64(1_000_000_001), "01m", true, "tokens-unlimited", "\"")
	for _, text := range rendertest.Texts() {
		f.Add(int64(1), text, int64(1), "1m", true, text, text)
	}
	f.Fuzz(func(t *testing.T, limit int64, window string, other int64, otherWindow string, old bool, living, predicate string) {
		in := input()
		second := short("second", rate(other, otherWindow))
		if old {
			second = legacy("second", rate(other, otherWindow))
		}
		in.Subscriptions = []model.Subscription{short("first", rate(limit, window)), second}
		in.Live.Limits = []kuadrant.Limit{{Name: living, Predicate: predicate}}
		out, err := model.Build(in)
		if err != nil {
			t.Fatalf("Build() error = %v", err)
		}
		for _, s := range in.Subscriptions {
			set, err := model.AdmitRates(s.Object, llm)
			var names []string
			if out.TokenRateLimitPolicy != nil {
				for _, l := range out.TokenRateLimitPolicy.Limits {
					if strings.Contains(l.Predicate, "\""+idOf(s)+"\"") {
						names = append(names, l.Name)
					}
				}
			}
			if err != nil && len(names) == 0 {
				continue
			}
			if err != nil || len(names) != 1 || !strings.HasPrefix(names[0], set.Name) {
				t.Errorf("%s of %v is in limits %q, refused: %v", s.Object.Name, s.Object.Spec.ModelRefs[0].TokenRateLimits, names, err)
			}
		}
	})
}

// FuzzSubjects gives a model one policy of any user and group: whoever is in
// the policy is counted, groups that nobody can be a member of are named, and
// the policy that was made of it holds it.
func FuzzSubjects(f *testing.F) {
	for _, text := range append(rendertest.Texts(), "alice", "system:authenticated", "a,b", "") {
		f.Add(text, text)
		f.Add("alice", text)
	}
	e := parts.Engine(f)
	f.Fuzz(func(t *testing.T, user, group string) {
		in := guarded()
		in.AuthPolicies = []model.AuthPolicy{authPolicy("team", []string{user, user}, group, group)}
		usable, unusable := model.Subjects(in.AuthPolicies[0].Object)
		want := 0
		if user != "" {
			want++
		}
		if safe := entitlement.SafeGroup(group); safe {
			want++
		} else if len(unusable) == 0 {
			t.Errorf("group %q counts for nobody and is not named", group)
		}
		if usable != want {
			t.Errorf("user %q and group %q are %d subjects, want %d", user, group, usable, want)
		}
		out, err := model.Build(in)
		if err != nil {
			if utf8.ValidString(user) {
				t.Fatalf("Build() error = %v", err)
			}
			return
		}
		objects, err := e.RenderAll(out.Requests())
		if err != nil {
			t.Fatalf("RenderAll() error = %v", err)
		}
		if !model.HoldsSubjects(objects[0], in.AuthPolicies[0].Object) {
			t.Errorf("the policy made of user %q and group %q does not hold them", user, group)
		}
	})
}

// TestNoPredicateIsConstant: every predicate of every rule lets some request of
// the table pass and refuses some other. One that always held would be a rule in
// name only.
func TestNoPredicateIsConstant(t *testing.T) {
	t.Parallel()
	s := switches{keyHeader: true, oidc: true}
	policy := newAuthorino(t, renderAuthPolicy(t, guarded()))
	var steps []call
	for _, w := range worlds(s) {
		if sequence := policy.steps(w); len(sequence) > 1 {
			steps = append(steps, sequence[len(sequence)-1])
		}
	}
	for name, rule := range policy.rules("authorization") {
		patterns := rule.(map[string]any)["patternMatching"].(map[string]any)["patterns"].([]any)
		for _, pattern := range patterns {
			predicate := pattern.(map[string]any)["predicate"].(string)
			for _, want := range []bool{true, false} {
				if !slices.ContainsFunc(steps, func(c call) bool {
					value, err := policy.eval(predicate, c)
					return (err == nil && value == true) == want
				}) {
					t.Errorf("rule %s: no request of the table makes %t of %s", name, want, predicate)
				}
			}
		}
	}
}

// TestOddNamesOfModelsChangeNothing: a model's name and namespace are literals,
// so none of them is mistaken for a path of maas-api or an API version.
func TestOddNamesOfModelsChangeNothing(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"v1", "maas-api"} {
		in := guarded()
		in.Model.Namespace, in.Model.Name = namespace, "models"
		for i := range in.AuthPolicies {
			in.AuthPolicies[i].Object.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: namespace, Name: "models"}}
		}
		policy := newAuthorino(t, renderAuthPolicy(t, in))
		selection := changed(selectReply(), map[string]any{"resolvedModel": namespace + "/models"})
		pass := call{headers: bearer(opaque), identity: review(), metadata: replies(nil, selection)}
		if refused := policy.denials(pass); len(refused) > 0 {
			t.Errorf("%s/models: refused by %v", namespace, refused)
		}
		for name, c := range map[string]call{
			"a selection for another model": {headers: bearer(opaque), identity: review(), metadata: replies(nil, selectReply())},
			"no selection":                  {headers: bearer(opaque), identity: review()},
		} {
			if len(policy.denials(c)) == 0 {
				t.Errorf("%s/models: %s passes", namespace, name)
			}
		}
	}
}

// TestExpressionsNeedOnlyTheStringExtension: Authorino 0.22, of Kuadrant 1.4,
// has no optional types.
func TestExpressionsNeedOnlyTheStringExtension(t *testing.T) {
	t.Parallel()
	policy := renderAuthPolicy(t, guarded())
	expressions := map[string]bool{}
	collect(policy.Object, expressions)
	for expression := range expressions {
		if _, issues := authorinoEnv(t).Compile(expression); issues.Err() != nil {
			t.Errorf("compile %s: %v", expression, issues.Err())
		}
	}
}
