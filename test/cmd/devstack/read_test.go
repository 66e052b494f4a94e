// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

func TestShortID(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"models-as-a-service/gold@llm/my-model": "790b74af224deb46",
		"ai-tenant-red-team/gold@llm/my-model":  "c2528b04af5c569b",
	} {
		if got := shortID(key); got != want {
			t.Errorf("shortID(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestLimitsFindMembersByIDAndByKey(t *testing.T) {
	t.Parallel()
	model := types.NamespacedName{Namespace: "llm", Name: "my-model"}
	subscription := func(name string) v1alpha1.MaaSSubscription {
		return v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "models-as-a-service", Name: name}}
	}
	w := &world{subscriptions: []v1alpha1.MaaSSubscription{subscription("gold"), subscription("silver"), subscription("stranger")}}
	policy := manifest(t, `
spec:
  limits:
    tokens-unlimited:
      when: [{predicate: 'auth.identity.selected_subscription_key == "models-as-a-service/silver@llm/my-model"'}]
    tokens-100-per-1m:
      rates: [{limit: 100, window: 1m}]
      when: [{predicate: 'auth.identity.selected_subscription_id in ["790b74af224deb46", "347e29af6f94d1cd"]'}]
`)
	want := []limitReport{
		{Name: "tokens-100-per-1m", Rates: []string{"100 per 1m"}, Members: []memberReport{
			{Subscription: "models-as-a-service/gold", Groups: []string{}},
			{Subscription: "models-as-a-service/silver", Groups: []string{}},
		}},
		{Name: "tokens-unlimited", Members: []memberReport{{Subscription: "models-as-a-service/silver", Groups: []string{}}}},
	}
	if diff := cmp.Diff(want, w.limits(policy, model)); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

func TestEnforcement(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ object, want string }{
		"fresh object": {object: `metadata: {generation: 1}`, want: "not looked at yet"},
		"status of an older generation": {
			object: `{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Enforced, status: "True"}]}}`,
			want:   "not looked at yet",
		},
		"enforced": {
			object: `{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Enforced, status: "True"}]}}`,
			want:   "Enforced",
		},
		"overridden": {
			object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
				{type: Accepted, status: "True"}, {type: Enforced, status: "False", reason: Overridden}]}}`,
			want: "not enforced: Overridden",
		},
		"target missing": {
			object: `{metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [
				{type: Accepted, status: "False", reason: TargetNotFound}]}}`,
			want: "not accepted: TargetNotFound",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := enforcement(manifest(t, tc.object)); got != tc.want {
				t.Errorf("enforcement() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPendingNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	const generation = 3
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: generation}
	}
	ref := v1alpha1.ModelReference{Namespace: "ns", Name: "model"}
	w := &world{
		models: []v1alpha1.MaaSModelRef{{
			ObjectMeta: meta("model"),
			Status:     v1alpha1.MaaSModelRefStatus{Phase: v1alpha1.ModelPhaseReady, ObservedGeneration: generation},
		}},
		authPolicies: []v1alpha1.MaaSAuthPolicy{{
			ObjectMeta: meta("access"), Spec: v1alpha1.MaaSAuthPolicySpec{ModelRefs: []v1alpha1.ModelReference{ref}},
			Status: v1alpha1.MaaSAuthPolicyStatus{Phase: v1alpha1.PhasePending, ObservedGeneration: generation},
		}},
		subscriptions: []v1alpha1.MaaSSubscription{{
			ObjectMeta: meta("gold"), Status: v1alpha1.MaaSSubscriptionStatus{Phase: v1alpha1.PhaseActive, ObservedGeneration: 2},
		}},
	}
	want := []string{
		"AuthPolicy of model ns/model: missing",
		"MaaSAuthPolicy ns/access: Pending, not Active yet",
		"MaaSSubscription ns/gold: not looked at yet",
	}
	if diff := cmp.Diff(want, w.pending()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
}

func manifest(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	// UnmarshalJSON wants a kind and keeps whole numbers whole.
	content = append([]byte(`{"apiVersion":"v1","kind":"Test",`), content[1:]...)
	if err := u.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOnlyTheSamplesAreWaitedFor(t *testing.T) {
	t.Parallel()
	sample := &unstructured.Unstructured{}
	sample.SetKind("MaaSSubscription")
	sample.SetNamespace("tenant")
	sample.SetName("sample")
	subscription := func(name string) v1alpha1.MaaSSubscription {
		return v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, Generation: 1}}
	}
	w := &world{subscriptions: []v1alpha1.MaaSSubscription{subscription("sample"), subscription("of-somebody-else")}}
	pending := w.only([]*unstructured.Unstructured{sample}).pending()
	if len(pending) != 1 || !strings.Contains(pending[0], "tenant/sample") {
		t.Errorf("waiting for %v, want the sample alone", pending)
	}
}
