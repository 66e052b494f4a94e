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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// toggle is one choice among the features of a model's policies.
type toggle struct {
	name string
	set  func(*model.Input)
	// shows are paths below spec that exist in the policies because of the
	// choice.
	shows []string
}

// toggles are all choices; a combination takes one of each line.
func toggles() [][]toggle {
	return [][]toggle{
		{
			{name: "keys in Authorization only"},
			{name: "keys in x-api-key too", set: func(in *model.Input) { in.AcceptKeyHeader = true }, shows: []string{"rules.authentication.api-keys-x-api-key"}},
			{name: "a provider's model", set: func(in *model.Input) { in.External = true }, shows: []string{"rules.response.success.headers.authorization"}},
			{name: "a provider's model, keys in x-api-key too", set: func(in *model.Input) { in.External, in.AcceptKeyHeader = true, true }, shows: []string{
				"rules.authentication.api-keys-x-api-key", "rules.response.success.headers.authorization", "rules.response.success.headers.x-api-key",
			}},
		},
		{
			{name: "no OIDC"},
			{name: "OIDC", set: func(in *model.Input) {
				in.Tenant.OIDC = &tenancy.OIDC{IssuerURL: "https://idp.example.com", ClientID: "maas", TTLSeconds: 300}
			}, shows: []string{"rules.authentication.oidc-identities", "rules.authorization.oidc-client-bound", "rules.authorization.oidc-username-safe"}},
		},
		{
			{name: "no caching"},
			{name: "caching", set: func(in *model.Input) {
				in.Settings.MetadataCacheTTL, in.Settings.AuthorizationCacheTTL = 60, 30
			}, shows: []string{"rules.metadata.apiKeyValidation.cache", "rules.metadata.subscription-info.cache"}},
			{name: "caching of keys only", set: func(in *model.Input) { in.Settings.MetadataCacheTTL = 60 }, shows: []string{"rules.metadata.apiKeyValidation.cache"}},
		},
		{
			{name: "the cluster's audience"},
			{name: "another audience", set: func(in *model.Input) { in.Settings.Audience = "maas: \"red\" # {0}" }},
		},
		{
			{name: "no subjects"},
			{name: "subjects inlined", set: grant("alice", "bob"), shows: []string{"rules.authorization.subject-allowed"}},
			{name: "too many subjects", set: grant(numbered("user", 300)...)},
		},
		{
			{name: "no members"},
			{name: "a short member", set: subscribe(short("gold", 100)), shows: []string{"limits.tokens-100-per-1m.rates"}},
			{name: "a legacy member", set: subscribe(legacy("gold", 100)), shows: []string{"limits.tokens-100-per-1m.rates"}},
			{name: "an unlimited member", set: subscribe(short("gold", 0)), shows: []string{"limits.tokens-unlimited"}},
			{name: "members of all kinds", set: subscribe(short("gold", 100), legacy("silver", 100), short("bronze", 5), short("free", 0), legacy("own", 0)), shows: []string{
				"limits.tokens-100-per-1m.rates", "limits.tokens-100-per-1m-id.rates", "limits.tokens-5-per-1m.rates", "limits.tokens-unlimited",
			}},
			{name: "many members", set: subscribe(many()...), shows: []string{"limits.tokens-100-per-1m.rates", "limits.tokens-100-per-1m-id.rates"}},
		},
	}
}

// combination is a choice of every line.
type combination struct {
	name string
	in   model.Input
	// shows are the kinds of policies and the paths in them that exist.
	shows map[string]bool
}

// combinations are all there are: few enough to need no selection.
func combinations() []combination {
	lines := toggles()
	total := 1
	for _, line := range lines {
		total *= len(line)
	}
	out := make([]combination, 0, total)
	for n := range total {
		c := combination{shows: map[string]bool{}, in: model.Input{
			Model: types.NamespacedName{Namespace: "llm", Name: "my-model"}, Route: "my-model-kserve-route",
			Tenant:   tenancy.Context{Name: tenancy.DefaultName},
			Settings: model.Settings{InfraNamespace: "odh-ai-gateway-infra", Audience: "https://kubernetes.default.svc"},
		}}
		var names []string
		for _, line := range lines {
			choice := line[n%len(line)]
			n /= len(line)
			names = append(names, choice.name)
			if choice.set != nil {
				choice.set(&c.in)
			}
			for _, path := range choice.shows {
				c.shows[path] = true
			}
		}
		c.name = strings.Join(names, ", ")
		c.settle()
		out = append(out, c)
	}
	return out
}

// settle adds the kinds of policies; one that is not wanted shows nothing.
func (c *combination) settle() {
	if len(c.in.AuthPolicies) == 0 {
		maps.DeleteFunc(c.shows, func(path string, _ bool) bool { return !strings.HasPrefix(path, "limits.") })
	} else {
		c.shows["AuthPolicy"] = true
	}
	if len(c.in.Subscriptions) > 0 {
		c.shows["TokenRateLimitPolicy"] = true
	}
}

// renderedCombinations are the distinct objects of all combinations, each with
// the name of one that has it. Rendering is pure, so equal values are rendered
// once.
func renderedCombinations(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	known, named := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	e, paths := parts.Engine(t), []string{}
	for _, choice := range slices.Concat(toggles()...) {
		paths = append(paths, choice.shows...)
	}
	for _, c := range combinations() {
		out, err := model.Build(c.in)
		if err != nil {
			t.Fatalf("%s: Build() error = %v", c.name, err)
		}
		var objects []*unstructured.Unstructured
		for _, request := range out.Requests() {
			values := fmt.Sprintf("%#v", request)
			if known[values] == nil {
				object, err := e.Render(request)
				if err != nil {
					t.Fatalf("%s: Render() error = %v", c.name, err)
				}
				known[values], named[object.GetKind()+" with "+c.name] = object, object
			}
			objects = append(objects, known[values])
		}
		checkCombination(t, c, paths, objects)
	}
	return named
}

// checkCombination makes sure that of the paths those that were switched on,
// and only those, are in the policies.
func checkCombination(t *testing.T, c combination, paths []string, objects []*unstructured.Unstructured) {
	t.Helper()
	got := map[string]bool{}
	for _, object := range objects {
		got[object.GetKind()] = true
		for _, path := range paths {
			_, found, err := unstructured.NestedFieldNoCopy(object.Object, append([]string{"spec"}, strings.Split(path, ".")...)...)
			if found && err == nil {
				got[path] = true
			}
		}
	}
	if diff := cmp.Diff(c.shows, got); diff != "" {
		t.Errorf("%s: what the policies hold (-want +got):\n%s", c.name, diff)
	}
}

func TestEveryCombinationOfFeaturesRenders(t *testing.T) {
	t.Parallel()
	// Who may call is one matter and the limits another, so that most
	// combinations share their objects with others. They meet in the key under which
	// selections are remembered: it names the set of subscriptions, one of four.
	distinct := renderedCombinations(t)
	auth := 0
	for name := range distinct {
		if strings.HasPrefix(name, "AuthPolicy") {
			auth++
		}
	}
	if diff := cmp.Diff([]int{4 * 2 * 3 * 2 * 2 * 4, 5}, []int{auth, len(distinct) - auth}); diff != "" {
		t.Errorf("distinct AuthPolicies and TokenRateLimitPolicies (-want +got):\n%s", diff)
	}
}

func grant(users ...string) func(*model.Input) {
	return func(in *model.Input) {
		p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "models-as-a-service", Name: "team"}}
		p.Spec.Subjects.Users = users
		p.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: "engineers"}}
		in.AuthPolicies = []model.AuthPolicy{{Object: p, Tenant: in.Tenant.Name}}
	}
}

func subscribe(members ...model.Subscription) func(*model.Input) {
	return func(in *model.Input) { in.Subscriptions = members }
}

func short(name string, limit int64) model.Subscription {
	return subscription(name, limit, v1alpha1.RateLimitIdentityShort)
}

func legacy(name string, limit int64) model.Subscription {
	return subscription(name, limit, v1alpha1.RateLimitIdentityLegacy)
}

// subscription has a limit per minute; none is unlimited.
func subscription(name string, limit int64, identity v1alpha1.RateLimitIdentity) model.Subscription {
	entry := v1alpha1.ModelSubscription{Namespace: "llm", Name: "my-model", Unlimited: limit == 0}
	if limit > 0 {
		entry.TokenRateLimits = []v1alpha1.TokenRateLimit{{Limit: limit, Window: "1m"}}
	}
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "models-as-a-service", Name: name}}
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{entry}
	s.Status.RateLimitIdentity = identity
	return model.Subscription{Object: s, Tenant: tenancy.DefaultName}
}

// many are more members than a predicate lists one by one.
func many() []model.Subscription {
	var members []model.Subscription
	for _, name := range numbered("team", 100) {
		members = append(members, short(name, 100), legacy("old-"+name, 100))
	}
	return members
}

func numbered(prefix string, n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", prefix, i))
	}
	return out
}
