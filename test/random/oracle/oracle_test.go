// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
)

// governed is a model with a route, one subscription and its policy, all as they
// should be but for an auth policy.
func governed() *oracle.Facts {
	f := &oracle.Facts{
		Namespaces: map[string]corev1.Namespace{}, Configs: map[string]v1alpha1.MaasTenantConfig{}, Tenants: map[string]v1alpha1.AITenant{},
		Services: []unstructured.Unstructured{*builder.ModelServer("llm", "granite")},
	}
	route := builder.Route("llm", "granite", "openshift-ingress", "maas-default-gateway").Obj()
	route.Status.Parents = []gwapiv1.RouteParentStatus{{
		ParentRef: route.Spec.ParentRefs[0], Conditions: []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionTrue}},
	}}
	f.Routes = append(f.Routes, *route)
	f.Services[0].Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}

	ref := builder.ModelRef("llm", "granite").Obj()
	ref.Finalizers = []string{"maas.opendatahub.io/model-cleanup"}
	ref.Status.Phase, ref.Status.HTTPRouteName = v1alpha1.ModelPhaseReady, "granite"
	for name, status := range map[string]metav1.ConditionStatus{"GovernanceAttached": "False", "RouteUnique": "True", "PoliciesApplied": "True"} {
		ref.Status.Conditions = append(ref.Status.Conditions, metav1.Condition{Type: name, Status: status})
	}
	f.Models = append(f.Models, *ref)

	s := builder.Subscription(oracle.DefaultNamespace, "gold").Limit(builder.Key("llm", "granite"), 100, "1m").Obj()
	s.Status.Phase, s.Status.RateLimitIdentity = v1alpha1.PhaseActive, "short"
	s.Status.TokenRateLimitStatuses = []v1alpha1.TokenRateLimitStatus{{ResourceRefStatus: v1alpha1.ResourceRefStatus{Namespace: "llm", Ready: true}, Model: "granite"}}
	f.Subscriptions = append(f.Subscriptions, *s)

	f.Policies = append(f.Policies, unstructured.Unstructured{Object: map[string]any{
		"kind": "TokenRateLimitPolicy",
		"metadata": map[string]any{
			"namespace": "llm", "name": "maas-trlp-granite",
			"labels": map[string]any{
				"maas.opendatahub.io/model": "granite", "maas.opendatahub.io/model-namespace": "llm", "app.kubernetes.io/managed-by": "maas-controller",
				"app.kubernetes.io/part-of": "maas-subscription", "app.kubernetes.io/component": "token-rate-limit-policy",
			},
			"annotations": map[string]any{"maas.opendatahub.io/subscriptions": oracle.DefaultNamespace + "/gold"},
		},
		"spec": map[string]any{
			"targetRef": map[string]any{"name": "granite"},
			"limits": map[string]any{"tokens-100-per-1m": map[string]any{
				"rates":    []any{map[string]any{"limit": int64(100), "window": "1m"}},
				"counters": []any{map[string]any{"expression": "auth.identity.selected_subscription_id"}, map[string]any{"expression": "auth.identity.userid"}},
				"when": []any{map[string]any{"predicate": `auth.identity.selected_subscription_id == "` +
					oracle.IDOf(oracle.DefaultNamespace+"/gold", "llm/granite") + `" && !(request.method == "GET" && request.url_path.endsWith("/v1/models"))`}},
			}, "nobody": map[string]any{
				"rates": []any{map[string]any{"limit": int64(0), "window": "1m"}},
				"when":  []any{map[string]any{"predicate": `!("identity" in auth) || auth.identity.userid == null`}},
			}},
		},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": "True"}, map[string]any{"type": "Enforced", "status": "True"}}},
	}})
	return f
}

// An oracle that finds nothing proves nothing.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	set := func(value any, path ...string) func(*oracle.Facts) {
		return func(f *oracle.Facts) {
			if err := unstructured.SetNestedField(f.Policies[0].Object, value, path...); err != nil {
				t.Error(err)
			}
		}
	}
	limit := func(path ...string) []string { return append([]string{"spec", "limits", "tokens-100-per-1m"}, path...) }
	for name, tc := range map[string]struct {
		change func(*oracle.Facts)
		want   string
	}{
		"all is as it should be":           {func(*oracle.Facts) {}, ""},
		"the policy is missing":            {func(f *oracle.Facts) { f.Policies = nil }, "limit tokens-100-per-1m members"},
		"the policy has no model":          {func(f *oracle.Facts) { f.Models = nil }, "exists although its model does not"},
		"a limit of nobody that lets pass": {set([]any{}, "spec", "limits", "nobody", "rates"), "limit nobody"},
		"a limit too many":                 {set(map[string]any{}, "spec", "limits", "more"), "limit more members"},
		"another rate":                     {set([]any{map[string]any{"limit": int64(9), "window": "1m"}}, limit("rates")...), "9-per-1m"},
		"another member":                   {set([]any{map[string]any{"predicate": `auth.identity.selected_subscription_id == "0"`}}, limit("when")...), "id 0"},
		"other counters":                   {set([]any{}, limit("counters")...), "counters"},
		"another route":                    {set("other", "spec", "targetRef", "name"), "target"},
		"no label":                         {set("", "metadata", "labels", "app.kubernetes.io/managed-by"), "labels"},
		"a contributor is not named":       {set("", "metadata", "annotations", "maas.opendatahub.io/subscriptions"), "contributors"},
		"a status that was not kept":       {func(f *oracle.Facts) { f.Subscriptions[0].Status.Phase = v1alpha1.PhasePending }, "MaaSSubscription models-as-a-service/gold: phase"},
		"the wrong identity":               {func(f *oracle.Facts) { f.Subscriptions[0].Status.RateLimitIdentity = "legacy" }, "identity"},
		"a route that went":                {func(f *oracle.Facts) { f.Routes = nil }, "MaaSModelRef llm/granite: route"},
		"a model that cannot serve":        {func(f *oracle.Facts) { f.Services = nil }, "MaaSModelRef llm/granite: phase"},
		"somebody not of the tenant":       {func(f *oracle.Facts) { f.Subscriptions[0].Namespace = "elsewhere" }, "MaaSSubscription elsewhere/gold: phase"},
		"a policy opted out unseen":        {set("false", "metadata", "annotations", "opendatahub.io/managed"), "as it was when it was opted out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := governed()
			tc.change(f)
			got := f.Compare(oracle.History{})
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("Compare() = %q, want it to contain %q", got, tc.want)
			}
		})
	}
}
