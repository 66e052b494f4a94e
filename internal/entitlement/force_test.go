// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestPhasesThatServe(t *testing.T) {
	t.Parallel()
	tests := map[v1alpha1.Phase]struct{ serves, binds bool }{
		v1alpha1.PhaseActive:   {true, true},
		v1alpha1.PhaseDegraded: {true, true},
		v1alpha1.PhasePending:  {false, true},
		v1alpha1.PhaseFailed:   {},
		v1alpha1.PhaseInvalid:  {},
		"":                     {},
		"Surprising <phase>":   {},
	}
	for phase, test := range tests {
		t.Run("phase "+string(phase), func(t *testing.T) {
			t.Parallel()
			x := index(sub("gold").phase(phase))
			_, err := x.Select(member(t, "team"), entitlement.Request{Model: llama})
			wantPhase(t, "Select", err, test.serves, phase)
			_, err = x.Mint(member(t, "team"), "")
			wantPhase(t, "Mint", err, test.binds, phase)
			_, err = x.Mint(member(t, "team"), "gold")
			wantPhase(t, "Mint by name", err, test.binds, phase)
			_, err = x.Visible(member(t, "team"), "gold")
			wantPhase(t, "Visible", err, test.serves, phase)
		})
	}
}

// wantPhase expects success or a refusal that tells the phase, if it is one.
func wantPhase(t *testing.T, what string, err error, ok bool, phase v1alpha1.Phase) {
	t.Helper()
	var refusal entitlement.Refusal
	switch {
	case ok && err == nil:
	case ok || !errors.As(err, &refusal) || refusal.Code != entitlement.CodeModelUnhealthy || refusal.Phase != phase:
		t.Errorf("%s error = %#v, want success: %t, else the phase", what, err, ok)
	case strings.Contains(refusal.Message, "<"):
		t.Errorf("%s shows what is no phase: %q", what, refusal.Message)
	}
}

// TestLeftOutMeansRefused covers what the limits of a model do not hold: its
// callers would match none of them.
func TestLeftOutMeansRefused(t *testing.T) {
	t.Parallel()
	generation := func(generation int64) func(*v1alpha1.MaaSSubscription) {
		return func(s *v1alpha1.MaaSSubscription) { s.Generation = generation }
	}
	limits := func(ready bool) func(*v1alpha1.MaaSSubscription) {
		return func(s *v1alpha1.MaaSSubscription) { s.Status.TokenRateLimitStatuses[0].Ready = ready }
	}
	refs := func(change func(*v1alpha1.ModelRefStatus)) func(*v1alpha1.MaaSSubscription) {
		return func(s *v1alpha1.MaaSSubscription) { change(&s.Status.ModelRefStatuses[0]) }
	}
	noStatus := func(s *v1alpha1.MaaSSubscription) {
		s.Status.TokenRateLimitStatuses, s.Status.ModelRefStatuses = nil, nil
	}
	tests := map[string]struct {
		phase   v1alpha1.Phase
		change  func(*v1alpha1.MaaSSubscription)
		refused bool
	}{
		"Active":   {phase: v1alpha1.PhaseActive},
		"Degraded": {phase: v1alpha1.PhaseDegraded},
		"Degraded with limits that are not ready":   {v1alpha1.PhaseDegraded, limits(false), true},
		"Active with limits that are not ready":     {v1alpha1.PhaseActive, limits(false), false},
		"Degraded without a word about the model":   {v1alpha1.PhaseDegraded, noStatus, true},
		"Active without a word about the model":     {v1alpha1.PhaseActive, noStatus, false},
		"Active with an older word about the model": {v1alpha1.PhaseActive, generation(2), false},
		"Active before the model was added": {v1alpha1.PhaseActive, func(s *v1alpha1.MaaSSubscription) {
			noStatus(s)
			s.Generation = 2
		}, true},
		"Degraded with limits of another namespace ready": {v1alpha1.PhaseDegraded, func(s *v1alpha1.MaaSSubscription) {
			s.Status.TokenRateLimitStatuses[0].Namespace = "elsewhere"
		}, true},
		"an entry of another tenant": {v1alpha1.PhaseDegraded, refs(func(r *v1alpha1.ModelRefStatus) {
			r.Ready, r.Reason = false, v1alpha1.ReasonForeignTenant
		}), true},
		"an entry that no longer fits": {v1alpha1.PhaseActive, refs(func(r *v1alpha1.ModelRefStatus) {
			r.Ready, r.Reason = false, v1alpha1.ReasonTooManyMembers
		}), true},
		"a left out model of the same name": {v1alpha1.PhaseDegraded, refs(func(r *v1alpha1.ModelRefStatus) {
			r.Ready, r.Namespace = false, "elsewhere"
		}), false},
		"an invalid rate the status does not know of yet": {v1alpha1.PhaseActive, func(s *v1alpha1.MaaSSubscription) {
			s.Spec.ModelRefs[0].TokenRateLimits = append(s.Spec.ModelRefs[0].TokenRateLimits, rate(1, "9999h"))
		}, true},
		"no rate at all": {v1alpha1.PhaseActive, func(s *v1alpha1.MaaSSubscription) {
			s.Spec.ModelRefs[0].TokenRateLimits = nil
		}, true},
		"unlimited in so many words": {v1alpha1.PhaseActive, unlimited, false},
		"none of two entries counts": {v1alpha1.PhaseActive, func(s *v1alpha1.MaaSSubscription) {
			s.Spec.ModelRefs = append(s.Spec.ModelRefs, s.Spec.ModelRefs[0])
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sub("gold").phase(test.phase)
			if test.change != nil {
				s = s.with(test.change)
			}
			_, err := index(s).Select(member(t, "team"), entitlement.Request{Model: llama})
			if want := (map[bool]entitlement.Code{true: entitlement.CodeModelUnhealthy})[test.refused]; codeOf(err) != want {
				t.Errorf("Select() error = %v, want code %q", err, want)
			}
		})
	}
}

func TestDegradedServesItsGoodModels(t *testing.T) {
	t.Parallel()
	s := sub("gold").phase(v1alpha1.PhaseDegraded).and(qwen, rate(1, "1m")).with(func(s *v1alpha1.MaaSSubscription) {
		s.Status.TokenRateLimitStatuses[1].Ready = false
	})
	x := index(s)
	if _, err := x.Select(member(t, "team"), entitlement.Request{Model: llama}); err != nil {
		t.Errorf("Select(llama) error = %v", err)
	}
	if _, err := x.Select(member(t, "team"), entitlement.Request{Model: qwen}); codeOf(err) != entitlement.CodeModelUnhealthy {
		t.Errorf("Select(qwen) error = %v, want code %s", err, entitlement.CodeModelUnhealthy)
	}
}

func TestModelsThatServe(t *testing.T) {
	t.Parallel()
	condition := func(status metav1.ConditionStatus) func(*entitlement.Facts) {
		return func(f *entitlement.Facts) {
			f.Models[0].Object.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionRouteUnique), Status: status}}
		}
	}
	tests := map[string]struct {
		change  func(*entitlement.Facts)
		refused bool
	}{
		"a model that is not ready":       {func(f *entitlement.Facts) { f.Models[0].Object.Status.Phase = v1alpha1.ModelPhaseUnhealthy }, false},
		"a model that is there":           {func(*entitlement.Facts) {}, false},
		"a route of its own":              {condition(metav1.ConditionTrue), false},
		"a route that is another model's": {condition(metav1.ConditionFalse), true},
		"a model that is not there":       {func(f *entitlement.Facts) { f.Models = nil }, true},
		"a model of another tenant":       {func(f *entitlement.Facts) { f.Models[0].Tenant = "red" }, true},
		"a model whose tenant is unknown": {func(f *entitlement.Facts) { f.Models[0].Tenant = "" }, true},
		"a model that is being deleted":   {func(f *entitlement.Facts) { f.Models[0].Object.DeletionTimestamp = &metav1.Time{} }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts(sub("gold"))
			test.change(&f)
			_, err := entitlement.NewIndex(tenant, f).Select(member(t, "team"), entitlement.Request{Model: llama})
			if want := (map[bool]entitlement.Code{true: entitlement.CodeModelUnhealthy})[test.refused]; codeOf(err) != want {
				t.Errorf("Select() error = %v, want code %q", err, want)
			}
		})
	}
}
