// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
)

func policyOnly(o *catalog.Options) { o.Mode = catalog.ModePolicy }

func TestListedModels(t *testing.T) {
	t.Parallel()
	granite, llama := model("granite"), model("llama")
	both := []*v1alpha1.MaaSModelRef{granite, llama}
	tests := map[string]struct {
		world     world
		requested string
		want      string
	}{
		"all subscriptions together, each model once, subscriptions by name": {
			world: world{models: both, subscriptions: []*v1alpha1.MaaSSubscription{subscription("silver", both), subscription("gold", both[:1])}},
			want:  "policy granite=llm/granite(gold,silver) llama=llm/llama(silver)",
		},
		"a requested subscription narrows": {
			world:     world{models: both, subscriptions: []*v1alpha1.MaaSSubscription{subscription("silver", both), subscription("gold", both[:1])}},
			requested: "gold", want: "policy granite=llm/granite(gold)",
		},
		"a subscription without models shows nothing": {
			world: world{models: both, subscriptions: []*v1alpha1.MaaSSubscription{subscription("empty", nil)}}, requested: "empty", want: "policy",
		},
		"a model that no policy grants is not shown, also with a requested subscription": {
			world:     world{models: both, denied: "llama", subscriptions: []*v1alpha1.MaaSSubscription{subscription("gold", both)}},
			requested: "gold", want: "policy granite=llm/granite(gold)",
		},
		"a subscription whose entry is not in force is not shown with the model": {
			world: world{models: both[:1], subscriptions: []*v1alpha1.MaaSSubscription{
				subscription("gold", both[:1]),
				subscription("late", both[:1], func(s *v1alpha1.MaaSSubscription) { s.Status.ModelRefStatuses[0].Ready = false }),
			}},
			want: "policy granite=llm/granite(gold)",
		},
		"only Ready models": {world: gold(
			granite, model("pending", phase(v1alpha1.ModelPhasePending)), model("ill", phase(v1alpha1.ModelPhaseUnhealthy)),
			model("failed", phase(v1alpha1.ModelPhaseFailed)), model("bad", phase(v1alpha1.ModelPhaseInvalid)), model("new", phase("")),
			model("going", func(m *v1alpha1.MaaSModelRef) { m.DeletionTimestamp = &metav1.Time{} }),
		), want: "policy granite=llm/granite(gold)"},
		"known kinds only": {world: gold(
			model("old", kind("llmisvc")), model("blank", kind("")), model("other", kind("InferenceService")),
		), want: "policy blank=llm/blank(gold) old=llm/old(gold)"},
		"the alias where there is one": {
			world: gold(model("granite", alias("publishers/llm/models/granite"))), want: "policy publishers/llm/models/granite=llm/granite(gold)",
		},
		"an external model is called as its backend": {
			world: gold(model("ref", external("opt-external"), alias("opt-external"))), want: "policy opt-external=llm/ref(gold)",
		},
		"a backend's name that leads nowhere is not shown": {
			world: gold(model("ref", external("opt-external"))), want: "policy ref=llm/ref(gold)",
		},
		"an alias that two models have is the first one's": {
			world: gold(model("b", alias("chat")), model("a", alias("chat"))), want: "policy b=llm/b(gold) chat=llm/a(gold)",
		},
		"a name that two models have is qualified for the second": {
			world: gold(model("chat", in("zz")), model("chat")), want: "policy chat=llm/chat(gold) zz/chat=zz/chat(gold)",
		},
		"an alias of one that is the name of another is the former's": {
			world: gold(model("chat"), model("other", alias("chat"))), want: "policy chat=llm/other(gold) llm/chat=llm/chat(gold)",
		},
	}
	c := newCatalog(t, nil, policyOnly)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := tc.world.query()
			q.Subscription = tc.requested
			if diff := cmp.Diff(tc.want, shown(c.list(t, q))); diff != "" {
				t.Errorf("listing (-want +got):\n%s", diff)
			}
		})
	}
}

func kind(k v1alpha1.BackendKind) modelOption {
	return func(m *v1alpha1.MaaSModelRef) { m.Spec.ModelRef.Kind = k }
}

func TestAPIKeyListsItsOwnSubscriptionByTheSameRules(t *testing.T) {
	t.Parallel()
	granite, llama := model("granite"), model("llama")
	all := []*v1alpha1.MaaSModelRef{granite, llama}
	w := world{models: all, denied: "llama", subscriptions: []*v1alpha1.MaaSSubscription{subscription("gold", all), subscription("silver", all)}}
	caller, err := entitlement.FromKey("alice", []string{"team"}, "silver")
	if err != nil {
		t.Fatal(err)
	}
	q := catalog.Query{Index: w.index(), Caller: caller, Subscription: "gold", Credential: catalog.NewCredential("Bearer "+secret, "")}
	if got := shown(newCatalog(t, nil, policyOnly).list(t, q)); got != "policy granite=llm/granite(silver)" {
		t.Errorf("listing %q", got)
	}
}

func TestSubscriptionThatServesNobodyIsRefused(t *testing.T) {
	t.Parallel()
	models := []*v1alpha1.MaaSModelRef{model("granite")}
	tests := map[string]struct {
		change subscriptionOption
		want   entitlement.Code
	}{
		"Failed":                 {func(s *v1alpha1.MaaSSubscription) { s.Status.Phase = v1alpha1.PhaseFailed }, entitlement.CodeModelUnhealthy},
		"not reconciled":         {func(s *v1alpha1.MaaSSubscription) { s.Status.Phase = "" }, entitlement.CodeModelUnhealthy},
		"being deleted":          {func(s *v1alpha1.MaaSSubscription) { s.DeletionTimestamp = &metav1.Time{} }, entitlement.CodeModelUnhealthy},
		"no longer the caller's": {func(s *v1alpha1.MaaSSubscription) { s.Spec.Owner.Groups[0].Name = "others" }, entitlement.CodeAccessDenied},
		"deleted":                {func(s *v1alpha1.MaaSSubscription) { s.Name = "another" }, entitlement.CodeAccessDenied},
	}
	c := newCatalog(t, nil, policyOnly)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := world{models: models, subscriptions: []*v1alpha1.MaaSSubscription{subscription("gold", models, tc.change)}}.query()
			q.Subscription = "gold"
			_, err := c.List(t.Context(), q)
			var refusal entitlement.Refusal
			if !errors.As(err, &refusal) || refusal.Code != tc.want {
				t.Errorf("refusal %v, want %s", err, tc.want)
			}
		})
	}
}

func TestEntryInJSON(t *testing.T) {
	t.Parallel()
	const bare = `{"id":"granite","created":1777636800,"object":"model","owned_by":"llm/granite","kind":"LLMInferenceService","url":"https://maas.example.com/llm/granite","ready":true,`
	const through = `"subscriptions":[{"name":"gold"}]}`
	base := func(m *v1alpha1.MaaSModelRef) { m.Status.BaseURL = "https://maas.example.com" }
	tests := map[string]struct {
		change       modelOption
		subscription subscriptionOption
		want         string
	}{
		"nothing said":           {want: bare + through},
		"empty texts say naught": {change: annotated(v1alpha1.AnnotationDisplayName, "", v1alpha1.AnnotationModelCapabilities, ""), want: bare + through},
		"everything said": {
			change: annotated(
				v1alpha1.AnnotationDisplayName, "Granite", v1alpha1.AnnotationDescription, "A model", v1alpha1.AnnotationUseCase, "chat",
				v1alpha1.AnnotationContextWindow, "128k", v1alpha1.AnnotationModelCapabilities, `["vision","tools"]`,
			),
			want: bare + `"modelDetails":{"genaiUseCase":"chat","description":"A model","displayName":"Granite","contextWindow":"128k","modelCapabilities":["vision","tools"]},` + through,
		},
		"capabilities alone":     {change: annotated(v1alpha1.AnnotationModelCapabilities, `["vision"]`), want: bare + `"modelDetails":{"modelCapabilities":["vision"]},` + through},
		"broken capabilities":    {change: annotated(v1alpha1.AnnotationModelCapabilities, `["vision"`), want: bare + through},
		"mistyped capabilities":  {change: annotated(v1alpha1.AnnotationModelCapabilities, `["vision",1]`), want: bare + through},
		"no capabilities at all": {change: annotated(v1alpha1.AnnotationModelCapabilities, `[]`), want: bare + through},
		"a base URL": {
			change: base,
			want:   `{"id":"granite","created":1777636800,"object":"model","owned_by":"llm/granite","kind":"LLMInferenceService","url":"https://maas.example.com/llm/granite","baseUrl":"https://maas.example.com","ready":true,` + through,
		},
		"a base URL in the clear is not shown": {change: func(m *v1alpha1.MaaSModelRef) { m.Status.BaseURL = "http://maas.example.com" }, want: bare + through},
		"a described subscription": {
			subscription: func(s *v1alpha1.MaaSSubscription) {
				s.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: "Gold", v1alpha1.AnnotationDescription: "Much"}
			},
			want: bare + `"subscriptions":[{"name":"gold","displayName":"Gold","description":"Much"}]}`,
		},
	}
	c := newCatalog(t, nil, policyOnly)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := model("granite")
			if tc.change != nil {
				tc.change(m)
			}
			w := gold(m)
			if tc.subscription != nil {
				tc.subscription(w.subscriptions[0])
			}
			got, err := json.Marshal(c.list(t, w.query()).Models)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("["+tc.want+"]", string(got)); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyListIsAList(t *testing.T) {
	t.Parallel()
	if l := newCatalog(t, nil, policyOnly).list(t, world{}.query()); l.Models == nil {
		t.Error("no models are nil, which shows as null")
	}
}

// drawWorld draws models whose names, aliases and backends run into each other.
func drawWorld(t *rapid.T) world {
	names := []string{"a", "b", "llm/a", "zz/b", "publishers/llm/models/a"}
	var w world
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom([][2]string{{"llm", "a"}, {"llm", "b"}, {"zz", "a"}, {"zz", "b"}, {"publishers", "a"}}), 1, 5, rapid.ID).Draw(t, "keys")
	for _, key := range keys {
		m := model(key[1], in(key[0]), alias(rapid.SampledFrom(append(names, "")).Draw(t, "alias")))
		if rapid.Bool().Draw(t, "external") {
			external(rapid.SampledFrom(names).Draw(t, "backend"))(m)
		}
		w.models = append(w.models, m)
	}
	for _, name := range []string{"gold", "silver"} {
		included := rapid.SliceOfNDistinct(rapid.SampledFrom(w.models), 0, len(w.models), rapid.ID).Draw(t, name)
		w.subscriptions = append(w.subscriptions, subscription(name, included))
	}
	if rapid.Bool().Draw(t, "some are denied") {
		w.denied = "b"
	}
	return w
}

// The id that a list shows is taken by the selection of a request for exactly that
// model, through each subscription it is shown with; nothing usable is missing,
// and no two models have one id.
func TestShownIDsAreAcceptedAsShown(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, nil, policyOnly)
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		q := w.query()
		l := c.list(t, q)
		seen, pairs := map[string]bool{}, 0
		for _, m := range l.Models {
			if seen[m.ID] {
				rt.Errorf("two models are called %s", m.ID)
			}
			seen[m.ID] = true
			for _, s := range m.Subscriptions {
				pairs++
				got, err := q.Index.Select(q.Caller, entitlement.Request{Model: m.ID, Subscription: s.Name})
				if err != nil || !got.AccessAllowed || got.Model.String() != m.OwnedBy {
					rt.Errorf("%s through %s leads to %s (%v), want %s", m.ID, s.Name, got.Model, err, m.OwnedBy)
				}
			}
		}
		for _, s := range w.subscriptions {
			for _, ref := range s.Spec.ModelRefs {
				got, err := q.Index.Select(q.Caller, entitlement.Request{Model: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}.String(), Subscription: s.Name})
				if err == nil && got.AccessAllowed {
					pairs--
				}
			}
		}
		if pairs != 0 {
			rt.Errorf("%+d entries beside what can be used: %s", pairs, shown(l))
		}
	})
}
