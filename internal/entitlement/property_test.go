// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

var (
	drawnModels = []string{llama, qwen, "llm/phi"}
	drawnGroups = []string{"team", "others", "b", entitlement.AuthenticatedGroup}
	drawnUsers  = []string{"alice", "bob", "carol"}
	drawnNames  = []string{"zz-gold", "zz-silver", "zz-bronze"}
	namespaces  = []string{home, "zz-elsewhere"}
)

func drawGroups(t *rapid.T, least int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(drawnGroups), least, 2, rapid.ID).Draw(t, "groups")
}

func drawUsers(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(drawnUsers), 0, 1, rapid.ID).Draw(t, "users")
}

// drawSubscription draws one whose entries are in force or not for a reason
// among several, see works.
func drawSubscription(t *rapid.T) subscription {
	s := sub(rapid.SampledFrom(drawnNames).Draw(t, "name")).in(rapid.SampledFrom(namespaces).Draw(t, "namespace"))
	s.Spec.Owner = v1alpha1.Owner{Users: drawUsers(t), Groups: groupsOf(drawGroups(t, 0)...)}
	s = s.priority(rapid.Int32Range(-1, 2).Draw(t, "priority")).phase(rapid.SampledFrom([]v1alpha1.Phase{
		"", v1alpha1.PhasePending, v1alpha1.PhaseActive, v1alpha1.PhaseActive, v1alpha1.PhaseDegraded, v1alpha1.PhaseFailed,
	}).Draw(t, "phase"))
	s.Spec.ModelRefs = nil
	for i, model := range rapid.SliceOfNDistinct(rapid.SampledFrom(drawnModels), 1, 3, rapid.ID).Draw(t, "models") {
		if i == 0 {
			s = s.model(model, rate(rapid.Int64Range(0, 2).Draw(t, "limit"), "1m"))
		} else {
			s = s.and(model, rate(1, "1m"))
		}
		s.Status.ModelRefStatuses[i].Ready = rapid.IntRange(0, 5).Draw(t, "valid") > 0
		s.Status.TokenRateLimitStatuses[i].Ready = rapid.IntRange(0, 3).Draw(t, "ready") > 0
	}
	if rapid.IntRange(0, 6).Draw(t, "deleting") == 0 {
		s = s.deleting()
	}
	return s
}

func drawFacts(t *rapid.T) entitlement.Facts {
	f := facts(rapid.SliceOfNDistinct(rapid.Custom(drawSubscription), 0, 6, func(s subscription) string {
		return nameOf(s.MaaSSubscription)
	}).Draw(t, "subscriptions")...)
	f.AuthPolicies = nil
	for range rapid.IntRange(0, 3).Draw(t, "policies") {
		subjects := v1alpha1.Subjects{Users: drawUsers(t), Groups: groupsOf(drawGroups(t, 0)...)}
		models := rapid.SliceOfNDistinct(rapid.SampledFrom(drawnModels), 1, 3, rapid.ID).Draw(t, "granted")
		f.AuthPolicies = append(f.AuthPolicies, ours(grant(subjects, models...)))
	}
	for i := range f.Subscriptions {
		f.Subscriptions[i].Tenant = rapid.SampledFrom([]string{tenant, tenant, tenant, "red", ""}).Draw(t, "tenant")
	}
	return f
}

func drawCaller(t *rapid.T) entitlement.Caller {
	c, err := entitlement.FromToken(rapid.SampledFrom(drawnUsers).Draw(t, "user"), drawGroups(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func drawRequest(t *rapid.T) entitlement.Request {
	requested := []string{"", "", "zz-none", home + "/zz-none"}
	for _, name := range drawnNames {
		requested = append(requested, name, home+"/"+name, "zz-elsewhere/"+name)
	}
	return entitlement.Request{
		Model:        rapid.SampledFrom(append([]string{"", "llm/unknown"}, drawnModels...)).Draw(t, "model"),
		Subscription: rapid.SampledFrom(requested).Draw(t, "requested"),
	}
}

// candidates are what the caller may mean, by the words of the specification, one
// subscription after the other.
func candidates(f entitlement.Facts, c entitlement.Caller, r entitlement.Request) []*v1alpha1.MaaSSubscription {
	var found []*v1alpha1.MaaSSubscription
	for _, s := range f.Subscriptions {
		o := s.Object
		asked := r.Subscription == o.Name || r.Subscription == nameOf(o)
		auto := r.Subscription == "" && o.DeletionTimestamp == nil && (r.Model == "" || entryFor(o, r.Model) >= 0)
		if s.Tenant == tenant && entitlement.Owns(c, &o.Spec.Owner) && (asked || auto) {
			found = append(found, o)
		}
	}
	return found
}

// naive selects by the words of the specification.
func naive(f entitlement.Facts, c entitlement.Caller, r entitlement.Request) (*v1alpha1.MaaSSubscription, entitlement.Code) {
	found := candidates(f, c, r)
	switch {
	case len(found) > 1:
		return nil, entitlement.CodeMultipleSubscriptions
	case len(found) == 0 && r.Subscription == "":
		return nil, entitlement.CodeNotFound
	case len(found) == 0:
		return nil, entitlement.CodeAccessDenied
	case r.Model != "" && entryFor(found[0], r.Model) < 0:
		return nil, entitlement.CodeModelNotInSubscription
	case !works(found[0], r.Model):
		return nil, entitlement.CodeModelUnhealthy
	}
	return found[0], ""
}

func entryFor(s *v1alpha1.MaaSSubscription, model string) int {
	return slices.IndexFunc(s.Spec.ModelRefs, func(ref v1alpha1.ModelSubscription) bool { return ref.Namespace+"/"+ref.Name == model })
}

// works tells whether a drawn subscription is good for the model; the model phi
// does not exist.
func works(s *v1alpha1.MaaSSubscription, model string) bool {
	phase := s.Status.Phase
	if s.DeletionTimestamp != nil || phase == "" || phase == v1alpha1.PhaseFailed {
		return false
	}
	if model == "" {
		return true
	}
	i := entryFor(s, model)
	return phase != v1alpha1.PhasePending && model != "llm/phi" && s.Spec.ModelRefs[i].TokenRateLimits[0].Limit > 0 &&
		s.Status.ModelRefStatuses[i].Ready && (phase == v1alpha1.PhaseActive || s.Status.TokenRateLimitStatuses[i].Ready)
}

func TestSelectDoesWhatTheSpecificationSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c, r := drawFacts(t), drawCaller(t), drawRequest(t)
		want, wantCode := naive(f, c, r)
		got, err := entitlement.NewIndex(tenant, f).Select(c, r)
		if got.Subscription != want || codeOf(err) != wantCode {
			t.Fatalf("Select(%+v) = %q, %v, want %q, code %q", r, nameOf(got.Subscription), err, nameOf(want), wantCode)
		}
		if err != nil {
			return
		}
		if !entitlement.Owns(c, &got.Subscription.Spec.Owner) {
			t.Errorf("the caller does not own %s", nameOf(got.Subscription))
		}
		if r.Model == "" {
			return
		}
		if wantAccess := entitlement.AccessAllowed(c, got.Model, tenant, f.AuthPolicies); got.AccessAllowed != wantAccess {
			t.Errorf("access allowed: %t, want %t", got.AccessAllowed, wantAccess)
		}
		if wantKey := nameOf(got.Subscription) + "@" + r.Model; got.Key != wantKey || got.ID != entitlement.ShortID(wantKey) {
			t.Errorf("key %s, id %s, want key %s and its id", got.Key, got.ID, wantKey)
		}
	})
}

func TestMintPicksTheFirstOwnedGoodOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c := drawFacts(t), drawCaller(t)
		var want *v1alpha1.MaaSSubscription
		for _, s := range f.Subscriptions {
			if s.Tenant == tenant && entitlement.Owns(c, &s.Object.Spec.Owner) && works(s.Object, "") &&
				(want == nil || entitlement.RankOf(s.Object).Compare(entitlement.RankOf(want)) < 0) {
				want = s.Object
			}
		}
		got, err := entitlement.NewIndex(tenant, f).Mint(c, "")
		if got != want || (err == nil) != (want != nil) {
			t.Errorf("Mint() = %q, %v, want %q", nameOf(got), err, nameOf(want))
		}
	})
}

// answers are all that a caller can learn, for comparison.
func answers(f entitlement.Facts, c entitlement.Caller, r entitlement.Request) []any {
	x := entitlement.NewIndex(tenant, f)
	selected, selectErr := x.Select(c, r)
	minted, mintErr := x.Mint(c, r.Subscription)
	visible, visibleErr := x.Visible(c, r.Subscription)
	return []any{
		nameOf(selected.Subscription), selected.Key, selected.AccessAllowed, selectErr, nameOf(minted), mintErr, shown(visible), visibleErr,
	}
}

func TestAnswersDoNotDependOnTheOrderOfTheFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c, r := drawFacts(t), drawCaller(t), drawRequest(t)
		shuffled := entitlement.Facts{
			Models:        rapid.Permutation(f.Models).Draw(t, "models"),
			Subscriptions: rapid.Permutation(f.Subscriptions).Draw(t, "shuffled"),
			AuthPolicies:  rapid.Permutation(f.AuthPolicies).Draw(t, "policies"),
		}
		if diff := cmp.Diff(answers(f, c, r), answers(shuffled, c, r)); diff != "" {
			t.Errorf("another answer to %+v (-first +second):\n%s", r, diff)
		}
	})
}

func TestSubscriptionsOfOthersChangeNoAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c, r := drawFacts(t), drawCaller(t), drawRequest(t)
		other := drawSubscription(t)
		other.Spec.Owner = v1alpha1.Owner{Users: []string{"mallory"}, Groups: groupsOf("mallory")}
		more := f
		more.Subscriptions = slices.DeleteFunc(slices.Clone(f.Subscriptions), func(s entitlement.Tenanted[*v1alpha1.MaaSSubscription]) bool {
			return nameOf(s.Object) == nameOf(other.MaaSSubscription)
		})
		f.Subscriptions = slices.Clone(more.Subscriptions)
		more.Subscriptions = append(more.Subscriptions, ours(other.MaaSSubscription))
		if diff := cmp.Diff(answers(f, c, r), answers(more, c, r)); diff != "" {
			t.Errorf("a subscription of others changes the answer to %+v (-without +with):\n%s", r, diff)
		}
	})
}

func TestWhoIsInNobodysGroupsIsRefused(t *testing.T) {
	t.Parallel()
	stranger, err := entitlement.FromToken("mallory", []string{"mallory"})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f, r := drawFacts(t), drawRequest(t)
		for _, s := range f.Subscriptions {
			s.Object.Spec.Owner.Groups = slices.DeleteFunc(s.Object.Spec.Owner.Groups, func(g v1alpha1.GroupReference) bool {
				return g.Name == entitlement.AuthenticatedGroup
			})
		}
		for _, f := range []entitlement.Facts{f, {}} {
			x := entitlement.NewIndex(tenant, f)
			if got, err := x.Select(stranger, r); err == nil {
				t.Errorf("Select(%+v) = %s", r, nameOf(got.Subscription))
			}
			if got, err := x.Mint(stranger, r.Subscription); err == nil {
				t.Errorf("Mint(%s) = %s", r.Subscription, nameOf(got))
			}
			if got, _ := x.Visible(stranger, r.Subscription); len(got) > 0 {
				t.Errorf("Visible(%s) = %s", r.Subscription, shown(got))
			}
		}
	})
}

func TestKeyIsLikeATokenThatAsksForItsSubscription(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c, r := drawFacts(t), drawCaller(t), drawRequest(t)
		if r.Subscription == "" {
			r.Subscription = drawnNames[0]
		}
		key, err := entitlement.FromKey(c.Username(), c.Groups(), r.Subscription)
		if err != nil {
			t.Fatal(err)
		}
		header := r
		header.Subscription = drawRequest(t).Subscription
		x := entitlement.NewIndex(tenant, f)
		want, wantErr := x.Select(c, r)
		got, err := x.Select(key, header)
		if diff := cmp.Diff(fmt.Sprint(want, wantErr), fmt.Sprint(got, err)); diff != "" {
			t.Errorf("Select(%+v) (-token +key):\n%s", r, diff)
		}
	})
}

func TestWhatIsVisibleAsUsableIsWhatIsAdmitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c := drawFacts(t), drawCaller(t)
		x := entitlement.NewIndex(tenant, f)
		visible, err := x.Visible(c, "")
		if err != nil {
			t.Fatal(err)
		}
		var listed, admitted []string
		for _, v := range visible {
			for _, m := range v.Models {
				if m.Usable {
					listed = append(listed, nameOf(v.Subscription)+"@"+m.Key.String())
				}
			}
		}
		for _, s := range f.Subscriptions {
			for _, model := range drawnModels {
				got, err := x.Select(c, entitlement.Request{Model: model, Subscription: nameOf(s.Object)})
				if err == nil && got.AccessAllowed {
					admitted = append(admitted, got.Key)
				}
			}
		}
		if diff := cmp.Diff(listed, admitted, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("listed and admitted differ (-listed +admitted):\n%s", diff)
		}
	})
}

func TestRefusalsNameNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f, c, r := drawFacts(t), drawCaller(t), drawRequest(t)
		for _, answer := range answers(f, c, r) {
			var refusal entitlement.Refusal
			if err, ok := answer.(error); !ok || !errors.As(err, &refusal) {
				continue
			}
			for _, word := range append([]string{"zz-", "llm/", "alice", "bob", "carol"}, namespaces...) {
				if strings.Contains(refusal.Message, word) {
					t.Errorf("message %q names %q", refusal.Message, word)
				}
			}
		}
	})
}
