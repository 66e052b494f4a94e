// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

func drawFacts(t *rapid.T) entitlement.Facts {
	f := of()
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"granite", "phi", "qwen"}), 0, 3, rapid.ID).Draw(t, "models") {
		m := model(name)
		m.Status.ResolvedModelAlias = rapid.SampledFrom([]string{"", "shared", "publishers/llm/models/" + name}).Draw(t, "alias")
		f.Models = append(f.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: m, Tenant: rapid.SampledFrom([]string{tenant, tenant, "red", ""}).Draw(t, "tenant")})
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"gold", "silver", "bronze"}), 0, 3, rapid.ID).Draw(t, "subscriptions") {
		s := sub(name, rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"granite", "phi", "qwen"}), 1, 3, rapid.ID).Draw(t, "refs")...)
		s.Spec.Owner.Groups[0].Name = rapid.SampledFrom([]string{"team", "team", "others"}).Draw(t, "owner")
		s.Spec.Priority = rapid.Int32Range(-1, 2).Draw(t, "priority")
		s.Status.Phase = rapid.SampledFrom([]v1alpha1.Phase{"", v1alpha1.PhaseActive, v1alpha1.PhaseActive, v1alpha1.PhaseDegraded, v1alpha1.PhasePending, v1alpha1.PhaseFailed}).Draw(t, "phase")
		s.Status.TokenRateLimitStatuses[0].Ready = rapid.Bool().Draw(t, "ready")
		s.Status.RateLimitIdentity = rapid.SampledFrom([]v1alpha1.RateLimitIdentity{"", v1alpha1.RateLimitIdentityShort, v1alpha1.RateLimitIdentityLegacy}).Draw(t, "identity")
		if rapid.IntRange(0, 5).Draw(t, "deleting") == 0 {
			s.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		f.Subscriptions = append(f.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: s, Tenant: tenant})
	}
	p := grant(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"granite", "phi", "qwen"}), 0, 3, rapid.ID).Draw(t, "granted")...)
	f.AuthPolicies = append(f.AuthPolicies, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: p, Tenant: tenant})
	return f
}

func drawRequest(t *rapid.T) entitlement.Request {
	return entitlement.Request{
		Model:        rapid.SampledFrom([]string{"", "llm/granite", "granite", "shared", "publishers/llm/models/phi", "llm/none", `ev"il`}).Draw(t, "model"),
		Subscription: rapid.SampledFrom([]string{"", "", "gold", home + "/silver", "x/bronze", "none", `ev"il`}).Draw(t, "subscription"),
	}
}

// wanted is the reply to a selection, member by member.
func wanted(selection entitlement.Selection, err error) map[string]any {
	if refusal, ok := errors.AsType[entitlement.Refusal](err); ok {
		return map[string]any{
			"error": string(refusal.Code), "message": refusal.Message, "accessAllowed": false, "phase": string(refusal.Phase), "ready": false,
		}
	}
	out := map[string]any{
		"name": selection.Subscription.Name, "namespace": selection.Subscription.Namespace, "phase": string(selection.Subscription.Status.Phase),
		"ready": false, "accessAllowed": selection.AccessAllowed, "rateLimitIdentity": string(selection.Identity),
	}
	if selection.Subscription.Spec.Priority > 0 {
		out["priority"] = float64(selection.Subscription.Spec.Priority)
	}
	if selection.Key != "" {
		out["resolvedModel"], out["subscriptionKey"], out["subscriptionId"] = selection.Model.String(), selection.Key, selection.ID
	}
	return out
}

func TestRepliesSayWhatTheIndexDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		f, request := drawFacts(r), drawRequest(r)
		c, err := entitlement.FromToken("alice", rapid.SliceOfN(rapid.SampledFrom([]string{"team", "others", "a,b"}), 0, 2).Draw(r, "groups"))
		if err != nil {
			r.Fatal(err)
		}
		s := subscription.NewSnapshot(tenant, f, epoch)
		for range 2 { // The second answer comes from what the first one left behind.
			got := object(t, s.AppendSelectReply(nil, c, request))
			refs, _ := got["modelRefs"].([]any)
			delete(got, "modelRefs")
			selection, err := entitlement.NewIndex(tenant, f).Select(c, request)
			if diff := cmp.Diff(wanted(selection, err), got); diff != "" {
				r.Fatalf("AppendSelectReply(%+v) (-want +got):\n%s", request, diff)
			}
			if err == nil && len(refs) != len(selection.Subscription.Spec.ModelRefs) {
				r.Fatalf("%d models shown of %d", len(refs), len(selection.Subscription.Spec.ModelRefs))
			}
		}
	})
}

func TestListingsShowWhatTheIndexShows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		f := drawFacts(r)
		s := subscription.NewSnapshot(tenant, f, epoch)
		visible, err := entitlement.NewIndex(tenant, f).Visible(alice(t), "")
		if err != nil {
			r.Fatal(err)
		}
		var all, ofGranite []string
		for _, v := range visible {
			all = append(all, v.Subscription.Name)
			if slices.ContainsFunc(v.Models, func(m entitlement.VisibleModel) bool { return m.Key.Name == "granite" }) {
				ofGranite = append(ofGranite, v.Subscription.Name)
			}
		}
		for name, test := range map[string]struct {
			want []string
			list func() ([]subscription.Item, error)
		}{
			"all":        {all, func() ([]subscription.Item, error) { return s.List(alice(t), "") }},
			"of granite": {ofGranite, func() ([]subscription.Item, error) { return s.ListOfModel(alice(t), "", "granite") }},
		} {
			items, err := test.list()
			var got []string
			for _, item := range items {
				got = append(got, item.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				r.Fatalf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		}
	})
}
