// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestSelectForAToken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		subscriptions []subscription
		model         string // Default: llama.
		requested     string
		want          string
		wantCode      entitlement.Code
	}{
		"the only subscription is chosen":              {subscriptions: []subscription{sub("gold")}, want: home + "/gold"},
		"one owned by name is chosen":                  {subscriptions: []subscription{sub("gold").user("alice")}, want: home + "/gold"},
		"those of others do not count":                 {subscriptions: []subscription{sub("gold"), sub("silver").group("others")}, want: home + "/gold"},
		"those without the model do not count":         {subscriptions: []subscription{sub("gold"), sub("silver").model(qwen, rate(1, "1m"))}, want: home + "/gold"},
		"those being deleted do not count":             {subscriptions: []subscription{sub("gold"), sub("silver").deleting()}, want: home + "/gold"},
		"several leave the choice to the caller":       {subscriptions: []subscription{sub("gold"), sub("silver")}, wantCode: entitlement.CodeMultipleSubscriptions},
		"priority does not choose":                     {subscriptions: []subscription{sub("gold").priority(50), sub("silver")}, wantCode: entitlement.CodeMultipleSubscriptions},
		"the state of others does not choose":          {subscriptions: []subscription{sub("gold"), sub("silver").phase(v1alpha1.PhaseFailed)}, wantCode: entitlement.CodeMultipleSubscriptions},
		"no subscription at all":                       {wantCode: entitlement.CodeNotFound},
		"a caller in nobody's groups":                  {subscriptions: []subscription{sub("gold").group("others")}, wantCode: entitlement.CodeNotFound},
		"none with the model":                          {subscriptions: []subscription{sub("gold").model(qwen, rate(1, "1m"))}, wantCode: entitlement.CodeNotFound},
		"only one being deleted":                       {subscriptions: []subscription{sub("gold").deleting()}, wantCode: entitlement.CodeNotFound},
		"an unknown model":                             {subscriptions: []subscription{sub("gold")}, model: "llm/none", wantCode: entitlement.CodeNotFound},
		"the requested one is chosen":                  {subscriptions: []subscription{sub("gold").priority(50), sub("free")}, requested: "free", want: home + "/free"},
		"it may be qualified":                          {subscriptions: []subscription{sub("gold"), sub("free")}, requested: home + "/free", want: home + "/free"},
		"it may be one that is the caller's alone":     {subscriptions: []subscription{sub("gold"), sub("gold").in("other").group("others")}, requested: "gold", want: home + "/gold"},
		"it may be of another namespace of the tenant": {subscriptions: []subscription{sub("gold").in("other")}, requested: "other/gold", want: "other/gold"},
		"a bare name of several is ambiguous":          {subscriptions: []subscription{sub("gold"), sub("gold").in("other")}, requested: "gold", wantCode: entitlement.CodeMultipleSubscriptions},
		"one that does not exist":                      {subscriptions: []subscription{sub("gold")}, requested: "none", wantCode: entitlement.CodeAccessDenied},
		"one of another namespace":                     {subscriptions: []subscription{sub("gold")}, requested: "other/gold", wantCode: entitlement.CodeAccessDenied},
		"one of others":                                {subscriptions: []subscription{sub("gold"), sub("silver").group("others")}, requested: "silver", wantCode: entitlement.CodeAccessDenied},
		"one of others with its namespace":             {subscriptions: []subscription{sub("gold"), sub("silver").group("others")}, requested: home + "/silver", wantCode: entitlement.CodeAccessDenied},
		"one without the model":                        {subscriptions: []subscription{sub("gold"), sub("silver").model(qwen, rate(1, "1m"))}, requested: "silver", wantCode: entitlement.CodeModelNotInSubscription},
		"one asked for an unknown model":               {subscriptions: []subscription{sub("gold")}, model: "llm/none", requested: "gold", wantCode: entitlement.CodeModelNotInSubscription},
		"one that is being deleted":                    {subscriptions: []subscription{sub("gold").deleting()}, requested: "gold", wantCode: entitlement.CodeModelUnhealthy},
		"no name":                                      {subscriptions: []subscription{sub("gold")}, requested: "Gold!", wantCode: entitlement.CodeBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := entitlement.Request{Model: test.model, Subscription: test.requested}
			if request.Model == "" {
				request.Model = llama
			}
			got, err := index(test.subscriptions...).Select(member(t, "team"), request)
			if nameOf(got.Subscription) != test.want || codeOf(err) != test.wantCode {
				t.Errorf("Select() = %q, %v, want %q, code %q", nameOf(got.Subscription), err, test.want, test.wantCode)
			}
		})
	}
}

func TestSelectForAKey(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bound, requested string
		want             string
		wantCode         entitlement.Code
	}{
		"the bound one of several":          {bound: "gold", want: home + "/gold"},
		"the bound one may be qualified":    {bound: home + "/gold", want: home + "/gold"},
		"the header is ignored":             {bound: "gold", requested: "silver", want: home + "/gold"},
		"a header that is no name, too":     {bound: "gold", requested: "!", want: home + "/gold"},
		"never another one than its own":    {bound: "gone", wantCode: entitlement.CodeAccessDenied},
		"one that is no longer its owner's": {bound: "others", requested: "gold", wantCode: entitlement.CodeAccessDenied},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := index(sub("gold"), sub("silver"), sub("others").group("others"))
			got, err := x.Select(keyOwner(t, test.bound, "team"), entitlement.Request{Model: llama, Subscription: test.requested})
			if nameOf(got.Subscription) != test.want || codeOf(err) != test.wantCode {
				t.Errorf("Select() = %q, %v, want %q, code %q", nameOf(got.Subscription), err, test.want, test.wantCode)
			}
		})
	}
}

func TestSelectWithoutAModel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		subscriptions []subscription
		requested     string
		want          string
		wantCode      entitlement.Code
	}{
		"the only subscription is chosen":  {subscriptions: []subscription{sub("gold")}, want: home + "/gold"},
		"the requested one is chosen":      {subscriptions: []subscription{sub("gold"), sub("free")}, requested: "free", want: home + "/free"},
		"a pending one is good":            {subscriptions: []subscription{sub("gold").phase(v1alpha1.PhasePending)}, want: home + "/gold"},
		"a failed one is not":              {subscriptions: []subscription{sub("gold").phase(v1alpha1.PhaseFailed)}, wantCode: entitlement.CodeModelUnhealthy},
		"an unreconciled one is not":       {subscriptions: []subscription{sub("gold").phase("")}, wantCode: entitlement.CodeModelUnhealthy},
		"one that is being deleted is not": {subscriptions: []subscription{sub("gold").deleting()}, requested: "gold", wantCode: entitlement.CodeModelUnhealthy},
		"several are for the caller to choose from": {
			subscriptions: []subscription{sub("gold"), sub("free")}, wantCode: entitlement.CodeMultipleSubscriptions,
		},
		"none": {wantCode: entitlement.CodeNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := index(test.subscriptions...).Select(member(t, "team"), entitlement.Request{Subscription: test.requested})
			if nameOf(got.Subscription) != test.want || codeOf(err) != test.wantCode {
				t.Fatalf("Select() = %q, %v, want %q, code %q", nameOf(got.Subscription), err, test.want, test.wantCode)
			}
			if got.Key != "" || got.ID != "" || got.AccessAllowed != (err == nil) {
				t.Errorf("Select() = %+v, want no key, and access allowed unless refused", got)
			}
		})
	}
}

func TestSelectionTellsWhatLimitsMatch(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		subscription subscription
		want         v1alpha1.RateLimitIdentity
	}{
		"short": {sub("gold"), v1alpha1.RateLimitIdentityShort},
		"legacy as recorded": {
			sub("gold").with(func(s *v1alpha1.MaaSSubscription) {
				s.Status.RateLimitIdentity = v1alpha1.RateLimitIdentityLegacy
			}), v1alpha1.RateLimitIdentityLegacy,
		},
		"legacy before it is recorded": {
			sub("gold").with(func(s *v1alpha1.MaaSSubscription) { s.Status.RateLimitIdentity = "" }), v1alpha1.RateLimitIdentityLegacy,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.subscription.model("llm/my-model", rate(1, "1m"))
			f := facts(s)
			f.Models = append(f.Models, ours(modelRef("llm/my-model")))
			got, err := entitlement.NewIndex(tenant, f).Select(member(t, "team"), entitlement.Request{Model: "llm/my-model"})
			if err != nil {
				t.Fatal(err)
			}
			want := entitlement.Selection{
				Subscription: s.MaaSSubscription, Model: keyOf("llm/my-model"),
				Key: "models-as-a-service/gold@llm/my-model", ID: "790b74af224deb46", Identity: test.want,
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable()); diff != "" {
				t.Errorf("Select() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectFindsModels(t *testing.T) {
	t.Parallel()
	aliased := func(name, alias string) entitlement.Tenanted[*v1alpha1.MaaSModelRef] {
		m := modelRef(name)
		m.Status.ResolvedModelAlias = alias
		return ours(m)
	}
	f := facts(sub("gold").and(qwen, rate(1, "1m")).and("b/llama", rate(1, "1m")).and("z/gone", rate(1, "1m")).and("z/named", rate(1, "1m")).and("c/mixtral", rate(1, "1m")))
	f.Models = []entitlement.Tenanted[*v1alpha1.MaaSModelRef]{
		aliased("llm/llama", "meta/llama-3"), aliased("llm/qwen", "llm/llama"), aliased("b/llama", "meta/llama-3"), aliased("c/mixtral", "z/named"),
		{Object: modelRef("a/foreign"), Tenant: "red"},
	}
	x := entitlement.NewIndex(tenant, f)
	for requested, want := range map[string]string{
		"llm/llama":    "llm/llama", // Not the alias of another model.
		"meta/llama-3": "b/llama",   // The first of two.
		"llama":        "b/llama",
		"qwen":         "llm/qwen",
		"llm/unknown":  "",
		"unknown":      "",
		"a/foreign":    "",
		"foreign":      "",
		"gone":         "",
		"z/gone":       "",
		"z/named":      "c/mixtral", // The subscription also names a model z/named, which does not exist.
		"/":            "",
	} {
		got, err := x.Select(member(t, "team"), entitlement.Request{Model: requested})
		if (err == nil) != (want != "") || err == nil && got.Model != keyOf(want) {
			t.Errorf("Select(%q) = model %s, %v, want %q", requested, got.Model, err, want)
		}
	}
}

func TestNobodyIsRefusedEverything(t *testing.T) {
	t.Parallel()
	x := index(sub("gold").group(entitlement.AuthenticatedGroup), sub("free").user(""))
	var nobody entitlement.Caller
	if _, err := x.Select(nobody, entitlement.Request{Model: llama}); codeOf(err) != entitlement.CodeBadRequest {
		t.Errorf("Select() error = %v", err)
	}
	if _, err := x.Mint(nobody, ""); codeOf(err) != entitlement.CodeBadRequest {
		t.Errorf("Mint() error = %v", err)
	}
	if _, err := x.Visible(nobody, ""); codeOf(err) != entitlement.CodeBadRequest {
		t.Errorf("Visible() error = %v", err)
	}
}

func TestWhatIsOfAnotherTenantDoesNotExist(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]string{"another tenant": "red", "no tenant": ""} {
		f := facts(sub("gold"))
		f.Subscriptions[0].Tenant = foreign
		for indexed, x := range map[string]*entitlement.Index{
			tenant: entitlement.NewIndex(tenant, f), "no tenant": entitlement.NewIndex("", f),
		} {
			unknown, unknownErr := x.Select(member(t, "team"), entitlement.Request{Model: llama, Subscription: "none"})
			got, err := x.Select(member(t, "team"), entitlement.Request{Model: llama, Subscription: "gold"})
			if diff := cmp.Diff(unknownErr, err); diff != "" || got != unknown {
				t.Errorf("a subscription of %s in the index of %s is told from an unknown one (-unknown +foreign):\n%s", name, indexed, diff)
			}
		}
	}
}

func TestUnknownAndForeignNamesHaveOneAnswer(t *testing.T) {
	t.Parallel()
	x := index(sub("gold"), sub("secret").group("others"), sub("dying").group("others").deleting(), sub("broken").group("others").phase(v1alpha1.PhaseFailed))
	c := member(t, "team")
	_, want := x.Select(c, entitlement.Request{Model: llama, Subscription: "unknown"})
	for _, name := range []string{"secret", home + "/secret", "dying", "broken", home + "/unknown", "elsewhere/gold"} {
		for _, model := range []string{llama, qwen, "llm/none", ""} {
			_, selected := x.Select(c, entitlement.Request{Model: model, Subscription: name})
			_, minted := x.Mint(c, name)
			_, listed := x.Visible(c, name)
			for method, got := range map[string]error{"Select": selected, "Mint": minted, "Visible": listed} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s(%q) for model %q (-unknown +got):\n%s", method, name, model, diff)
				}
			}
		}
	}
}
