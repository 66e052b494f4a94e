// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

func names(items []subscription.Item) string {
	var out []string
	for _, item := range items {
		var refs []string
		for _, ref := range item.ModelRefs {
			refs = append(refs, ref.Name)
		}
		out = append(out, item.Name+":"+strings.Join(refs, "+"))
	}
	return strings.Join(out, " ")
}

// inPhase is a subscription on granite in that phase.
func inPhase(name string, phase v1alpha1.Phase) *v1alpha1.MaaSSubscription {
	s := sub(name, "granite")
	s.Status.Phase = phase
	return s
}

func TestListings(t *testing.T) {
	t.Parallel()
	leaving := sub("leaving", "granite")
	leaving.DeletionTimestamp = &metav1.Time{Time: epoch}
	foreign := sub("theirs", "granite")
	foreign.Spec.Owner.Groups[0].Name = "others"
	twin := sub("twin", "granite")
	twin.Spec.ModelRefs[0].Namespace = "lab"
	twin.Spec.ModelRefs = append(twin.Spec.ModelRefs, sub("", "granite").Spec.ModelRefs...)
	twin.Status.TokenRateLimitStatuses = nil
	otherTwin := sub("other-twin", "granite")
	otherTwin.Spec.ModelRefs[0].Namespace = "lab"
	for name, test := range map[string]struct {
		objects   []any
		all       string
		ofGranite string
	}{
		"show what is Active or Degraded, sorted by name": {
			objects: []any{
				inPhase("e", v1alpha1.PhaseActive), inPhase("d", v1alpha1.PhaseDegraded), inPhase("c", v1alpha1.PhaseFailed), inPhase("b", v1alpha1.PhasePending),
				inPhase("a", ""), inPhase("f", v1alpha1.PhaseInvalid), leaving, foreign, model("granite"), grant("granite"),
			},
			all: "d:granite e:granite", ofGranite: "d:granite e:granite",
		},
		"leave out models that no auth policy grants, and subscriptions without others": {
			objects:   []any{sub("gold", "phi", "granite", "qwen"), sub("silver", "phi"), model("granite"), model("phi"), grant("granite", "qwen")},
			all:       "gold:granite+qwen",
			ofGranite: "gold:granite+qwen",
		},
		"of a model leave out what does not name it": {
			objects:   []any{sub("gold", "phi"), sub("silver", "granite", "phi"), model("granite"), model("phi"), grant("granite", "phi")},
			all:       "gold:phi silver:granite+phi",
			ofGranite: "silver:granite+phi",
		},
		"of a model look at the granted one of two namespaces": {
			objects: []any{twin, otherTwin, model("granite"), grant("granite")}, all: "twin:granite", ofGranite: "twin:granite",
		},
		"are empty without any grant": {objects: []any{sub("gold", "granite"), model("granite")}},
		"show models that do not exist": {
			objects: []any{sub("gold", "granite"), grant("granite")}, all: "gold:granite", ofGranite: "gold:granite",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(test.objects...)
			all, err := s.List(alice(t), "")
			if err != nil || all == nil || names(all) != test.all {
				t.Errorf("List() = %q, %v, want %q", names(all), err, test.all)
			}
			some, err := s.ListOfModel(alice(t), "", "granite")
			if err != nil || some == nil || names(some) != test.ofGranite {
				t.Errorf("ListOfModel() = %q, %v, want %q", names(some), err, test.ofGranite)
			}
			none, err := s.ListOfModel(alice(t), "", "unknown")
			if err != nil || none == nil || len(none) != 0 {
				t.Errorf("ListOfModel() of an unknown model = %q, %v", names(none), err)
			}
		})
	}
}

func TestAnItemShowsNoNamespace(t *testing.T) {
	t.Parallel()
	described := model("granite")
	described.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: "Granite", v1alpha1.AnnotationDescription: "rock"}
	silent := sub("silent", "granite")
	silent.Annotations = map[string]string{v1alpha1.AnnotationDisplayName: "Shown"}
	items, err := snapshot(described, rich(), silent, grant("granite")).List(alice(t), "")
	if err != nil {
		t.Fatal(err)
	}
	ref := `{"name":"granite","model_name":"publishers/llm/models/granite","display_name":"Granite","description":"rock","source":"internal",` +
		`"token_rate_limits":[{"limit":100,"window":"1m"},{"limit":5000,"window":"24h"}]`
	want := `[{"subscription_id_header":"gold","subscription_description":"the\nbest","display_name":"Gold \"plus\"","priority":7,` +
		`"model_refs":[` + ref + `,"billing_rate":{"per_token":"0.0000025"}}],"organization_id":"acme","cost_center":"cc-42","labels":{"team":"blue"}},` +
		// A display name is no description.
		`{"subscription_id_header":"silent","subscription_description":"","display_name":"Shown","priority":0,"model_refs":[` + ref + `}]}]`
	if diff := cmp.Diff(want, marshal(t, items)); diff != "" {
		t.Errorf("List() (-want +got):\n%s", diff)
	}
}

func TestAKeyListsItsOwnSubscription(t *testing.T) {
	t.Parallel()
	s := snapshot(model("granite"), sub("gold", "granite"), sub("silver", "granite"), grant("granite"))
	key, err := entitlement.FromKey("alice", []string{"team"}, "silver")
	if err != nil {
		t.Fatal(err)
	}
	if items, err := s.List(key, "gold"); err != nil || names(items) != "silver:granite" {
		t.Errorf("List() = %q, %v", names(items), err)
	}
	if items, err := s.List(alice(t), "gone"); err == nil {
		t.Errorf("List() of a subscription that does not exist = %q", names(items))
	}
}
