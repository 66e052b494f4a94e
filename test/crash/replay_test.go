// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/test/random/oracle"
)

// A watcher that can find nothing proves nothing.
func TestLossesAreFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events []happening
		want   int
	}{
		"nothing is lost":                          {[]happening{gold(1), limits("a", "gold"), limits("a", "gold", "silver")}, 0},
		"a member is left out":                     {[]happening{gold(1), limits("a", "gold"), limits("a", "silver")}, 1},
		"a member that was never in is not missed": {[]happening{gold(1), limits("a", "silver"), limits("a", "silver")}, 0},
		"a member moves to other counters":         {[]happening{gold(1), limits("a", "gold"), limits("a-id", "gold")}, 1},
		"an edited member may move":                {[]happening{gold(1), limits("a", "gold"), gold(2), limits("b", "gold")}, 0},
		"an edited member must stay in":            {[]happening{gold(1), limits("a", "gold"), gold(2), limits("b", "silver")}, 1},
		"a deleted member may be left out":         {[]happening{gold(1), limits("a", "gold"), ended(gold(1)), limits("a", "silver")}, 0},
		"a policy goes while a member lives":       {[]happening{gold(1), limits("a", "gold"), ended(limits("a", "gold"))}, 1},
		"a policy goes with its last member":       {[]happening{gold(1), limits("a", "gold"), ended(gold(1)), ended(limits("a", "gold"))}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := violations(tc.events); len(got) != tc.want {
				t.Errorf("found %d losses, want %d: %v", len(got), tc.want, got)
			}
		})
	}
}

// gold is a generation of a subscription to the model.
func gold(generation int64) happening {
	o := &unstructured.Unstructured{Object: map[string]any{
		"kind": "MaaSSubscription", "metadata": map[string]any{"namespace": "tenant", "name": "gold"},
		"spec": map[string]any{"modelRefs": []any{map[string]any{"namespace": "llm", "name": "granite"}}},
	}}
	o.SetGeneration(generation)
	return happening{object: o}
}

// limits is a version of the model's policy with one limit.
func limits(name string, members ...string) happening {
	predicate := ""
	for _, m := range members {
		predicate += ` || auth.identity.selected_subscription_id == "` + oracle.IDOf("tenant/"+m, "llm/granite") + `"`
	}
	return happening{object: &unstructured.Unstructured{Object: map[string]any{
		"kind": "TokenRateLimitPolicy",
		"metadata": map[string]any{"namespace": "llm", "name": "maas-trlp-granite", "labels": map[string]any{
			"maas.opendatahub.io/model": "granite", "maas.opendatahub.io/model-namespace": "llm",
		}},
		"spec": map[string]any{"limits": map[string]any{name: map[string]any{"when": []any{map[string]any{"predicate": predicate}}}}},
	}}}
}

func ended(e happening) happening {
	e.deleted = true
	return e
}
