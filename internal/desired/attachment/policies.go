// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Policy is a generated policy with what can be read off it once for all objects
// that it holds.
type Policy struct {
	// Object is the policy; nil when there is none.
	Object    *unstructured.Unstructured
	readiness kuadrant.Readiness
	limits    []kuadrant.Limit
	excluded  string
}

// PolicyOf reads a policy as it stands now.
func PolicyOf(object *unstructured.Unstructured, now time.Time) Policy {
	p := Policy{Object: object, readiness: kuadrant.ReadinessOf(object, now), limits: kuadrant.Limits(object)}
	if object != nil {
		p.excluded = object.GetAnnotations()[v1alpha1.AnnotationExcludedSubscriptions]
	}
	return p
}

// Until is when the judgement of the policy changes although nothing else does;
// the zero time when it does not.
func (p Policy) Until() time.Time { return p.readiness.Until }

// optedOut tells whether somebody took the policy out of our hands.
func (p Policy) optedOut() bool {
	return p.Object != nil && p.Object.GetAnnotations()[v1alpha1.AnnotationManaged] == "false"
}

// OfAuthPolicy judges one model of a MaaSAuthPolicy. before is the status as it
// was.
func OfAuthPolicy(f Facts, policy *v1alpha1.MaaSAuthPolicy, before v1alpha1.MaaSAuthPolicyStatus) Reference {
	r, settled := f.admitted()
	if settled {
		return r
	}
	if elsewhere, is := r.elsewhere(f); is {
		return elsewhere
	}
	was, _ := saidOfAccess(before, policy.Generation, f.Key)
	return r.access(f.Policy, policy, was)
}

// access judges a reference of a MaaSAuthPolicy by the policy that guards the
// model.
func (r Reference) access(p Policy, policy *v1alpha1.MaaSAuthPolicy, was said) Reference {
	usable, unusable := model.Subjects(policy)
	if usable == 0 {
		return r.because(Lost, v1alpha1.ReasonInvalidSpec, "spec.subjects names nobody who could call: give at least one user, or a group of letters, digits and : . _ / -.")
	}
	if p.Object == nil || !model.HoldsSubjects(p.Object, policy) {
		return r.missing(p, "these subjects")
	}
	if len(unusable) > 0 {
		return r.because(Broken, v1alpha1.ReasonInvalidSpec, fmt.Sprintf("spec.subjects.groups: nobody can be a member of %s, because group names hold only letters, digits and : . _ / -. Remove or rename it.", unusable[0]))
	}
	return r.enforcement(p, was)
}

// SettledAuthPolicy tells whether the status of a MaaSAuthPolicy already says
// what follows from the policy of one of its models. A "no" may be wrong.
func SettledAuthPolicy(p Policy, policy *v1alpha1.MaaSAuthPolicy, key types.NamespacedName) bool {
	was, known := saidOfAccess(policy.Status, policy.Generation, key)
	return known && was.agrees(Reference{Model: key, Valid: true}.access(p, policy, was))
}

// OfSubscription judges one model of a MaaSSubscription. before is the status
// as it was.
func OfSubscription(f Facts, s *v1alpha1.MaaSSubscription, set entitlement.RateSet, before v1alpha1.MaaSSubscriptionStatus) Reference {
	r, settled := f.admitted()
	if settled {
		return r
	}
	if !entitlement.Owned(s) {
		return r.because(Lost, v1alpha1.ReasonInvalidSpec, "spec.owner names nobody who could call: give at least one user, or a group of letters, digits and : . _ / -.")
	}
	if elsewhere, is := r.elsewhere(f); is {
		return elsewhere
	}
	was, _ := saidOfLimits(before, s.Generation, f.Key)
	r = r.limits(f.Policy, s, set, was)
	if former, _ := saidOfLimits(before, before.ObservedGeneration, f.Key); former.Ready {
		r = r.meanwhile(f.Policy, s)
	}
	if governance := meta.FindStatusCondition(f.Model.Status.Conditions, string(v1alpha1.ConditionGovernanceAttached)); r.State == Broken && governance != nil && governance.Status == metav1.ConditionFalse {
		// Limits read what the AuthPolicy finds out; without one Kuadrant can only
		// complain about the expressions.
		r.Message = "The limits are not enforced. " + governance.Message
	}
	return r
}

// limits judges a reference of a MaaSSubscription by the policy that limits the
// model.
func (r Reference) limits(p Policy, s *v1alpha1.MaaSSubscription, set entitlement.RateSet, was said) Reference {
	covered := model.Covered(p.limits, s, r.Model, set)
	if p.leavesOut(s, covered) {
		r.Valid = false
		return r.because(Lost, v1alpha1.ReasonTooManyMembers, "Too many subscriptions of the model share these rates and this is one of the newest: choose other rates.")
	}
	if !covered {
		return r.missing(p, "these limits")
	}
	return r.enforcement(p, was)
}

// elsewhere judges a reference whose policy targets another route than the model's:
// whatever it holds protects nothing there.
func (r Reference) elsewhere(f Facts) (Reference, bool) {
	p := f.Policy
	if p.Object == nil || kuadrant.TargetRoute(p.Object) == f.Model.Status.HTTPRouteName {
		return r, false
	}
	if p.optedOut() {
		return r.because(Lost, v1alpha1.ReasonOptedOut, fmt.Sprintf("The %s is opted out of management and does not target the model's HTTPRoute: remove its annotation %s, or edit it by hand.", p.Object.GetKind(), v1alpha1.AnnotationManaged)), true
	}
	return r.because(Waiting, v1alpha1.ReasonNotEnforced, waiting), true
}

// meanwhile judges a reference that worked before it was edited: the generated
// policy is changed in place, so the gateway goes on enforcing what it had.
func (r Reference) meanwhile(p Policy, s *v1alpha1.MaaSSubscription) Reference {
	if !p.readiness.Enforced && !p.readiness.Waiting {
		return r // What the gateway does not enforce serves nobody.
	}
	if r.State == Waiting && model.Held(p.limits, s, r.Model) {
		r.Served = true
		return r.because(Waiting, v1alpha1.ReasonAccepted, changing)
	}
	return r
}

// SettledSubscription tells whether the status of a MaaSSubscription already says
// what follows from the policy of one of its models. A "no" may be wrong.
func SettledSubscription(p Policy, s *v1alpha1.MaaSSubscription, key types.NamespacedName) bool {
	was, known := saidOfLimits(s.Status, s.Generation, key)
	if !known {
		return false
	}
	set, err := model.AdmitRates(s, key)
	if err != nil || !entitlement.Owned(s) {
		return true // No policy changes that.
	}
	r := Reference{Model: key, Valid: true}.limits(p, s, set, was)
	if was.Ready {
		r = r.meanwhile(p, s)
	}
	return was.agrees(r)
}

// leavesOut tells whether the policy names the subscription among those that no
// longer fit. A list that had to be cut short means everybody it does not cover.
func (p Policy) leavesOut(s *v1alpha1.MaaSSubscription, covered bool) bool {
	if p.excluded == "" {
		return false
	}
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	return entitlement.Listed(p.excluded, key) || entitlement.CutShort(p.excluded) && !covered
}

// saidOfLimits is what the status of this generation says of a model.
func saidOfLimits(status v1alpha1.MaaSSubscriptionStatus, generation int64, key types.NamespacedName) (said, bool) {
	for i := range status.TokenRateLimitStatuses {
		if t := &status.TokenRateLimitStatuses[i]; t.Model == key.Name && t.Namespace == key.Namespace {
			return current(said{t.Ready, t.Reason, t.Message}, status.ObservedGeneration == generation)
		}
	}
	return said{}, false
}

// saidOfAccess is what the status of this generation says of a model.
func saidOfAccess(status v1alpha1.MaaSAuthPolicyStatus, generation int64, key types.NamespacedName) (said, bool) {
	for i := range status.AuthPolicies {
		if a := &status.AuthPolicies[i]; a.Model == key.Name && a.ModelNamespace == key.Namespace {
			return current(said{a.Ready, a.Reason, a.Message}, status.ObservedGeneration == generation)
		}
	}
	return said{}, false
}

// current drops what was said of another generation.
func current(s said, same bool) (said, bool) {
	if !same {
		return said{}, false
	}
	return s, true
}
