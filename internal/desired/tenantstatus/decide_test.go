// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantstatus_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
)

var (
	good    = tenantstatus.Observation{State: metav1.ConditionTrue}
	waiting = tenantstatus.Observation{State: metav1.ConditionUnknown, Message: "It takes time."}
	wrong   = tenantstatus.Observation{State: metav1.ConditionFalse, Message: "It is wrong."}
)

// facts are those of a tenant that works, of generation 3.
func facts(change func(*tenantstatus.Facts)) tenantstatus.Facts {
	f := tenantstatus.Facts{Generation: 3, Phase: v1alpha1.TenantPhaseActive, Deployment: good, Route: good, Policies: good}
	if change != nil {
		change(&f)
	}
	return f
}

// words are the conditions as "Type=Status Reason".
func words(v tenantstatus.Verdict) []string {
	var out []string
	for _, c := range v.Conditions {
		out = append(out, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return out
}

func annotation(message string) tenantstatus.Warning {
	return tenantstatus.Warning{Reason: v1alpha1.ReasonInvalidReplicaAnnotation, Message: message}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		facts     tenantstatus.Facts
		wantPhase v1alpha1.TenantPhase
		want      []string
	}{
		"a tenant that works is active": {
			facts: facts(nil), wantPhase: v1alpha1.TenantPhaseActive,
			want: []string{
				"Ready=True Reconciled", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=True RouteAccepted", "PoliciesEnforced=True PoliciesEnforced", "Degraded=False NoWarnings",
			},
		},
		"a missing API leaves the tenant pending": {
			facts:     facts(func(f *tenantstatus.Facts) { f.MissingAPIs = []string{"authconfigs.authorino.kuadrant.io"} }),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False DependenciesNotAvailable", "DependenciesAvailable=False DependencyMissing", "DeploymentsAvailable=False DependenciesNotMet",
				"Degraded=False DependenciesNotMet", "MaaSPrerequisitesAvailable=Unknown DependenciesNotMet",
				"RouteAccepted=Unknown DependenciesNotMet", "PoliciesEnforced=Unknown DependenciesNotMet",
			},
		},
		"a missing prerequisite fails the tenant": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Prerequisites.Blocking = []string{"No database."} }),
			wantPhase: v1alpha1.TenantPhaseFailed,
			want: []string{
				"Ready=False PrerequisitesNotMet", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=False PrerequisitesMissing",
				"DeploymentsAvailable=False PrerequisitesMissing", "Degraded=True PrerequisitesMissing",
				"RouteAccepted=Unknown PrerequisitesNotMet", "PoliciesEnforced=Unknown PrerequisitesNotMet",
			},
		},
		"what the cluster refuses fails the tenant, and warnings stay visible": {
			facts: facts(func(f *tenantstatus.Facts) {
				f.Failure = tenantstatus.Failure{Reason: v1alpha1.ReasonPlatformReconcileFailed, Message: "Refused."}
				f.Warnings = []tenantstatus.Warning{annotation("Not a number.")}
			}),
			wantPhase: v1alpha1.TenantPhaseFailed,
			want: []string{
				"Ready=False PlatformReconcileFailed", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=False PlatformReconcileFailed", "Degraded=True InvalidReplicaAnnotation",
				"RouteAccepted=Unknown PlatformReconcileFailed", "PoliciesEnforced=Unknown PlatformReconcileFailed",
			},
		},
		"Pods that do not run yet leave it pending, whatever the gateway says": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Deployment, f.Route, f.Policies = waiting, waiting, wrong }),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False DeploymentsNotReady", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=False DeploymentsNotReady", "RouteAccepted=Unknown RouteNotAccepted", "PoliciesEnforced=False PoliciesNotEnforced", "Degraded=False NoWarnings",
			},
		},
		"a route that is not accepted leaves it pending": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Route = wrong }),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False RouteNotAccepted", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=False RouteNotAccepted", "PoliciesEnforced=True PoliciesEnforced", "Degraded=False NoWarnings",
			},
		},
		"a policy that is refused fails it": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Policies = wrong }),
			wantPhase: v1alpha1.TenantPhaseFailed,
			want: []string{
				"Ready=False PoliciesNotEnforced", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=True RouteAccepted", "PoliciesEnforced=False PoliciesNotEnforced", "Degraded=False NoWarnings",
			},
		},
		"a policy that was never enforced is waited for": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Policies = waiting }),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False PoliciesNotEnforced", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=True RouteAccepted", "PoliciesEnforced=Unknown PoliciesNotEnforced", "Degraded=False NoWarnings",
			},
		},
		"a route that leads nowhere yet leaves it pending": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Closed = "Not guarded." }),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False RouteNotGuarded", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=Unknown RouteNotGuarded", "PoliciesEnforced=True PoliciesEnforced", "Degraded=False NoWarnings",
			},
		},
		"of a route that leads nowhere the policy that is refused is said": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Closed, f.Policies = "Not guarded.", wrong }),
			wantPhase: v1alpha1.TenantPhaseFailed,
			want: []string{
				"Ready=False PoliciesNotEnforced", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=Unknown RouteNotGuarded", "PoliciesEnforced=False PoliciesNotEnforced", "Degraded=False NoWarnings",
			},
		},
		"a route that is not accepted and leads nowhere is said to be the former": {
			facts:     facts(func(f *tenantstatus.Facts) { f.Closed, f.Route = "Not guarded.", wrong }),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False RouteNotAccepted", "DependenciesAvailable=True DependenciesMet", "MaaSPrerequisitesAvailable=True PrerequisitesMet",
				"DeploymentsAvailable=True DeploymentsReady", "RouteAccepted=False RouteNotAccepted", "PoliciesEnforced=True PoliciesEnforced", "Degraded=False NoWarnings",
			},
		},
		"an unmanaged tenant has no phase": {
			facts: facts(func(f *tenantstatus.Facts) {
				f.Halt = tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonManagementStateIdle, Idle: true}
			}),
			want: []string{"Ready=False ManagementStateIdle"},
		},
		"without the Config nothing is known": {
			facts: facts(func(f *tenantstatus.Facts) {
				f.Halt = tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonConfigMissing, Phase: v1alpha1.TenantPhasePending}
			}),
			wantPhase: v1alpha1.TenantPhasePending,
			want: []string{
				"Ready=False ConfigMissing", "DependenciesAvailable=Unknown ConfigMissing", "MaaSPrerequisitesAvailable=Unknown ConfigMissing",
				"DeploymentsAvailable=Unknown ConfigMissing", "RouteAccepted=Unknown ConfigMissing", "PoliciesEnforced=Unknown ConfigMissing", "Degraded=Unknown ConfigMissing",
			},
		},
		"what could not be read changes nothing but Ready": {
			facts: facts(func(f *tenantstatus.Facts) {
				f.Halt = tenantstatus.Halt{Ready: metav1.ConditionUnknown, Reason: v1alpha1.ReasonGetFailed, Keep: true}
			}),
			wantPhase: v1alpha1.TenantPhaseActive,
			want:      []string{"Ready=Unknown GetFailed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tenantstatus.Decide(test.facts)
			if got.Phase != test.wantPhase {
				t.Errorf("phase = %q, want %q", got.Phase, test.wantPhase)
			}
			if diff := cmp.Diff(test.want, words(got)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// E-112, A85: one source of warnings does not clear another's.
func TestWarningsAreUnited(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prerequisites []string
		warnings      []tenantstatus.Warning
		want          string
	}{
		"none":                          {want: "False NoWarnings "},
		"one prerequisite":              {prerequisites: []string{"a"}, want: "True PrerequisitesWarning a"},
		"several prerequisites":         {prerequisites: []string{"a", "b"}, want: "True PrerequisitesWarning a; b"},
		"an annotation":                 {warnings: []tenantstatus.Warning{annotation("c")}, want: "True InvalidReplicaAnnotation c"},
		"two of one kind":               {warnings: []tenantstatus.Warning{annotation("c"), annotation("d")}, want: "True InvalidReplicaAnnotation c; d"},
		"of both kinds":                 {prerequisites: []string{"a"}, warnings: []tenantstatus.Warning{annotation("c")}, want: "True MultipleWarnings a; c"},
		"an object that opted out":      {warnings: []tenantstatus.Warning{{Reason: v1alpha1.ReasonOptedOut, Message: "e"}}, want: "True OptedOut e"},
		"of kinds beside prerequisites": {warnings: []tenantstatus.Warning{annotation("c"), {Reason: v1alpha1.ReasonOptedOut, Message: "e"}}, want: "True MultipleWarnings c; e"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tenantstatus.Decide(facts(func(f *tenantstatus.Facts) {
				f.Prerequisites.Warnings, f.Warnings = test.prerequisites, test.warnings
			}))
			degraded := meta.FindStatusCondition(got.Conditions, string(v1alpha1.ConditionDegraded))
			if text := string(degraded.Status) + " " + degraded.Reason + " " + degraded.Message; text != test.want {
				t.Errorf("Degraded = %q, want %q", text, test.want)
			}
			wantPhase := v1alpha1.TenantPhaseDegraded
			if strings.HasPrefix(test.want, "False") {
				wantPhase = v1alpha1.TenantPhaseActive
			}
			if got.Phase != wantPhase || !meta.IsStatusConditionTrue(got.Conditions, string(v1alpha1.ConditionReady)) {
				t.Errorf("phase = %q, conditions %v, want %q and Ready", got.Phase, words(got), wantPhase)
			}
		})
	}
}

// Kuadrant calls all policies of a gateway unknown while one of them changes.
func TestEnforcementOutlastsABusyGateway(t *testing.T) {
	t.Parallel()
	busy := waiting
	busy.Passing = true
	for name, test := range map[string]struct {
		before   metav1.Condition
		policies tenantstatus.Observation
		want     metav1.ConditionStatus
	}{
		"it was enforced for this generation":  {metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: 3}, busy, metav1.ConditionTrue},
		"it was enforced for an earlier one":   {metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: 2}, busy, metav1.ConditionUnknown},
		"it was not enforced":                  {metav1.Condition{Status: metav1.ConditionFalse, ObservedGeneration: 3}, busy, metav1.ConditionUnknown},
		"it was enforced before it changed":    {metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: 3}, waiting, metav1.ConditionUnknown},
		"it was enforced and is refused today": {metav1.Condition{Status: metav1.ConditionTrue, ObservedGeneration: 3}, wrong, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.before.Type = string(v1alpha1.ConditionPoliciesEnforced)
			got := tenantstatus.Decide(facts(func(f *tenantstatus.Facts) {
				f.Previous, f.Policies = []metav1.Condition{test.before}, test.policies
			}))
			if c := meta.FindStatusCondition(got.Conditions, test.before.Type); c.Status != test.want {
				t.Errorf("PoliciesEnforced = %s, want %s", c.Status, test.want)
			}
		})
	}
}

// No condition is left over from an earlier state, every one speaks of the
// generation, whoever is not ready says why, and Active means Ready.
func TestEveryStatusIsWhole(t *testing.T) {
	t.Parallel()
	observation := rapid.SampledFrom([]tenantstatus.Observation{good, waiting, wrong})
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		f := facts(func(f *tenantstatus.Facts) {
			f.MissingAPIs = text.Draw(t, "missing")
			f.Prerequisites = tenantstatus.Prerequisites{Blocking: text.Draw(t, "blocking"), Warnings: text.Draw(t, "warnings")}
			f.Deployment, f.Route, f.Policies = observation.Draw(t, "deployment"), observation.Draw(t, "route"), observation.Draw(t, "policies")
			if rapid.Bool().Draw(t, "closed") {
				f.Closed = "Not guarded."
			}
			if rapid.Bool().Draw(t, "fails") {
				f.Failure = tenantstatus.Failure{Reason: v1alpha1.ReasonPlatformReconcileFailed, Message: "Refused."}
			}
			if rapid.Bool().Draw(t, "halts") {
				f.Halt = tenantstatus.Halt{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonConfigMissing, Message: "Missing.", Phase: v1alpha1.TenantPhasePending}
			}
		})
		got := tenantstatus.Decide(f)
		seen := map[string]bool{}
		for _, c := range got.Conditions {
			if seen[c.Type] || c.Reason == "" || c.ObservedGeneration != f.Generation {
				t.Fatalf("condition %+v is doubled, without a reason or of another generation", c)
			}
			seen[c.Type] = true
		}
		if len(seen) != len(tenantstatus.Conditions()) {
			t.Fatalf("conditions = %v, want all of %v", words(got), tenantstatus.Conditions())
		}
		ready := meta.FindStatusCondition(got.Conditions, string(v1alpha1.ConditionReady))
		works := got.Phase == v1alpha1.TenantPhaseActive || got.Phase == v1alpha1.TenantPhaseDegraded
		if works != (ready.Status == metav1.ConditionTrue) || (!works && ready.Message == "") {
			t.Fatalf("phase %q with Ready %+v", got.Phase, ready)
		}
		if works && meta.IsStatusConditionTrue(got.Conditions, string(v1alpha1.ConditionDegraded)) != (got.Phase == v1alpha1.TenantPhaseDegraded) {
			t.Fatalf("phase %q with %v", got.Phase, words(got))
		}
	})
}
