// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantstatus

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// notEvaluated is said of everything that comes after what Ready complains about.
const notEvaluated = "Not evaluated: see condition Ready."

// Conditions are the types that [Decide] evaluates, Ready first.
func Conditions() []v1alpha1.ConditionType {
	return []v1alpha1.ConditionType{
		v1alpha1.ConditionReady,
		v1alpha1.ConditionDependenciesAvailable,
		v1alpha1.ConditionPrerequisitesAvailable,
		v1alpha1.ConditionDeploymentsAvailable,
		v1alpha1.ConditionRouteAccepted,
		v1alpha1.ConditionPoliciesEnforced,
		v1alpha1.ConditionDegraded,
	}
}

// Decide computes the status.
func Decide(f Facts) Verdict {
	switch {
	case f.Halt.Ready != "":
		return f.halted()
	case len(f.MissingAPIs) > 0:
		return f.withoutAPIs()
	case len(f.Prerequisites.Blocking) > 0:
		return f.withoutPrerequisites()
	case f.Failure.Reason != "":
		return f.failed()
	default:
		return f.observed()
	}
}

// verdict collects conditions of one generation.
type verdict struct {
	Verdict
	generation int64
}

func (f Facts) verdict(phase v1alpha1.TenantPhase) *verdict {
	return &verdict{Verdict: Verdict{Phase: phase}, generation: f.Generation}
}

func (v *verdict) set(kind v1alpha1.ConditionType, status metav1.ConditionStatus, reason v1alpha1.ConditionReason, message string) {
	v.Conditions = append(v.Conditions, metav1.Condition{
		Type: string(kind), Status: status, Reason: string(reason), Message: message, ObservedGeneration: v.generation,
	})
}

// skip says of the given types, or of all that follow Ready, that they were not
// evaluated for a reason.
func (v *verdict) skip(reason v1alpha1.ConditionReason, kinds ...v1alpha1.ConditionType) {
	for _, kind := range kinds {
		v.set(kind, metav1.ConditionUnknown, reason, notEvaluated)
	}
}

func (f Facts) halted() Verdict {
	phase := f.Halt.Phase
	if f.Halt.Keep {
		if phase = f.Phase; phase == "" {
			phase = v1alpha1.TenantPhasePending
		}
	}
	v := f.verdict(phase)
	v.set(v1alpha1.ConditionReady, f.Halt.Ready, f.Halt.Reason, f.Halt.Message)
	others := Conditions()[1:]
	switch {
	case f.Halt.Keep:
	case f.Halt.Idle:
		v.Removed = others
	default:
		v.skip(f.Halt.Reason, others...)
	}
	return v.Verdict
}

func (f Facts) withoutAPIs() Verdict {
	v := f.verdict(v1alpha1.TenantPhasePending)
	missing := fmt.Sprintf("The cluster does not serve %s, which the tenant needs: install Kuadrant with Authorino, and Gateway API. The tenant goes on once it is there.", strings.Join(slices.Sorted(slices.Values(f.MissingAPIs)), ", "))
	v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDependenciesNotAvailable, missing)
	v.set(v1alpha1.ConditionDependenciesAvailable, metav1.ConditionFalse, v1alpha1.ReasonDependencyMissing, missing)
	v.set(v1alpha1.ConditionDeploymentsAvailable, metav1.ConditionFalse, v1alpha1.ReasonDependenciesNotMet, notEvaluated)
	v.set(v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonDependenciesNotMet, notEvaluated)
	v.skip(v1alpha1.ReasonDependenciesNotMet, v1alpha1.ConditionPrerequisitesAvailable, v1alpha1.ConditionRouteAccepted, v1alpha1.ConditionPoliciesEnforced)
	return v.Verdict
}

func (f Facts) withoutPrerequisites() Verdict {
	v := f.verdict(v1alpha1.TenantPhaseFailed)
	blocking := strings.Join(f.Prerequisites.Blocking, "; ")
	all := strings.Join(slices.Concat(f.Prerequisites.Blocking, f.Prerequisites.Warnings, messages(f.Warnings)), "; ")
	v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPrerequisitesNotMet, blocking)
	v.met()
	v.set(v1alpha1.ConditionPrerequisitesAvailable, metav1.ConditionFalse, v1alpha1.ReasonPrerequisitesMissing, all)
	v.set(v1alpha1.ConditionDeploymentsAvailable, metav1.ConditionFalse, v1alpha1.ReasonPrerequisitesMissing, notEvaluated)
	v.set(v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonPrerequisitesMissing, all)
	v.skip(v1alpha1.ReasonPrerequisitesNotMet, v1alpha1.ConditionRouteAccepted, v1alpha1.ConditionPoliciesEnforced)
	return v.Verdict
}

func (f Facts) failed() Verdict {
	v := f.verdict(v1alpha1.TenantPhaseFailed)
	v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, f.Failure.Reason, f.Failure.Message)
	v.met()
	v.provided()
	v.set(v1alpha1.ConditionDeploymentsAvailable, metav1.ConditionFalse, f.Failure.Reason, notEvaluated)
	v.degraded(f)
	v.skip(f.Failure.Reason, v1alpha1.ConditionRouteAccepted, v1alpha1.ConditionPoliciesEnforced)
	return v.Verdict
}

func (v *verdict) met() {
	v.set(v1alpha1.ConditionDependenciesAvailable, metav1.ConditionTrue, v1alpha1.ReasonDependenciesMet, "")
}

func (v *verdict) provided() {
	v.set(v1alpha1.ConditionPrerequisitesAvailable, metav1.ConditionTrue, v1alpha1.ReasonPrerequisitesMet, "")
}

// degraded is the union of all warnings, those about prerequisites first: none
// hides another.
func (v *verdict) degraded(f Facts) bool {
	all := make([]Warning, 0, len(f.Prerequisites.Warnings)+len(f.Warnings))
	for _, message := range f.Prerequisites.Warnings {
		all = append(all, Warning{v1alpha1.ReasonPrerequisitesWarning, message})
	}
	all = append(all, f.Warnings...)
	if len(all) == 0 {
		v.set(v1alpha1.ConditionDegraded, metav1.ConditionFalse, v1alpha1.ReasonNoWarnings, "")
		return false
	}
	reason := all[0].Reason
	if slices.ContainsFunc(all, func(w Warning) bool { return w.Reason != reason }) {
		reason = v1alpha1.ReasonMultipleWarnings
	}
	v.set(v1alpha1.ConditionDegraded, metav1.ConditionTrue, reason, strings.Join(messages(all), "; "))
	return true
}

func messages(warnings []Warning) []string {
	texts := make([]string, 0, len(warnings))
	for _, w := range warnings {
		texts = append(texts, w.Message)
	}
	return texts
}

// observed judges what was written, in the order in which one thing needs the other.
func (f Facts) observed() Verdict {
	policies := f.settled(v1alpha1.ConditionPoliciesEnforced, f.Policies)
	v := f.verdict(v1alpha1.TenantPhaseActive)
	phase := v1alpha1.TenantPhaseActive
	switch {
	case f.Deployment.State != metav1.ConditionTrue:
		phase = v1alpha1.TenantPhasePending
		v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeploymentsNotReady, f.Deployment.Message)
	case f.Route.State != metav1.ConditionTrue:
		phase = v1alpha1.TenantPhasePending
		v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRouteNotAccepted, f.Route.Message)
	case policies.State == metav1.ConditionUnknown:
		phase = v1alpha1.TenantPhasePending
		v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPoliciesNotEnforced, policies.Message)
	case policies.State != metav1.ConditionTrue:
		phase = v1alpha1.TenantPhaseFailed
		v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPoliciesNotEnforced, policies.Message)
	case f.Closed != "":
		phase = v1alpha1.TenantPhasePending
		v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRouteNotGuarded, f.Closed)
	default:
		v.set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconciled, "")
	}
	v.met()
	v.provided()
	v.observe(v1alpha1.ConditionDeploymentsAvailable, f.Deployment, v1alpha1.ReasonDeploymentsReady, v1alpha1.ReasonDeploymentsNotReady)
	if f.Closed != "" && f.Route.State == metav1.ConditionTrue {
		v.set(v1alpha1.ConditionRouteAccepted, metav1.ConditionUnknown, v1alpha1.ReasonRouteNotGuarded, f.Closed)
	} else {
		v.observe(v1alpha1.ConditionRouteAccepted, f.Route, v1alpha1.ReasonRouteAccepted, v1alpha1.ReasonRouteNotAccepted)
	}
	v.observe(v1alpha1.ConditionPoliciesEnforced, policies, v1alpha1.ReasonPoliciesEnforced, v1alpha1.ReasonPoliciesNotEnforced)
	if v.degraded(f) && phase == v1alpha1.TenantPhaseActive {
		phase = v1alpha1.TenantPhaseDegraded
	}
	v.Phase = phase
	return v.Verdict
}

func (v *verdict) observe(kind v1alpha1.ConditionType, o Observation, good, bad v1alpha1.ConditionReason) {
	if o.State == metav1.ConditionTrue {
		v.set(kind, o.State, good, "")
		return
	}
	state := o.State
	if state == "" || kind == v1alpha1.ConditionDeploymentsAvailable {
		state = metav1.ConditionFalse
	}
	v.set(kind, state, bad, o.Message)
}

// settled lets what was True stay so while that passes: Kuadrant calls every policy of
// a gateway unknown for seconds when one of them changes. A policy that Kuadrant has not
// judged as it stands now, for instance on another Gateway, may never be enforced.
func (f Facts) settled(kind v1alpha1.ConditionType, o Observation) Observation {
	if o.State != metav1.ConditionUnknown || !o.Passing {
		return o
	}
	before := meta.FindStatusCondition(f.Previous, string(kind))
	if before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == f.Generation {
		return Observation{State: metav1.ConditionTrue}
	}
	return o
}
