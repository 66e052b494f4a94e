// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package attachment judges how a MaaSAuthPolicy or MaaSSubscription is doing:
// first each model it refers to, then the whole. It is pure: facts go in, and
// equal facts give equal words.
//
// While the gateway is busy a reference keeps what was last said of it. So a
// burst of changes to one model costs each of its objects two statuses, waiting
// and enforced, however often the policy they share is written and judged.
package attachment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

// State is what a reference to a model has come to.
type State int

// States, from worst to best.
const (
	// Lost references have no effect until somebody edits something.
	Lost State = iota
	// Broken references stand in a policy that the gateway does not enforce.
	Broken
	// Waiting references are fine; the gateway has not caught up yet.
	Waiting
	// Enforced references work.
	Enforced
)

// waiting is said of every reference that only needs time, whatever it is that
// takes the time: the policy's writing, its acceptance or its enforcement.
const waiting = "The gateway does not enforce this entry yet. That takes seconds; if it lasts, look at the status of the generated policy and at Kuadrant."

// changing is said of a reference that was edited while it worked.
const changing = "The gateway enforces the former limits of this entry until it has taken up the new ones. That takes seconds; if it lasts, look at the status of the generated policy and at Kuadrant."

// Reference is the verdict on one model.
type Reference struct {
	// Model is the MaaSModelRef's key.
	Model types.NamespacedName
	// State is what it has come to.
	State State
	// Served is true of a waiting reference whose former terms the gateway
	// enforces meanwhile: its callers need not be refused.
	Served bool
	// Valid tells whether the reference itself is in order, whatever the
	// gateway makes of it.
	Valid bool
	// Reason and Message explain the state; an enforced one needs no message.
	Reason  v1alpha1.ConditionReason
	Message string
	// Until is when the verdict changes although nothing else does; the zero time
	// when it does not.
	Until time.Time
}

// Expressible tells whether the status can name the model: a stored reference
// that today's schema would refuse may be empty or too long. It still counts in
// the verdict, whose message names it.
func (r Reference) Expressible() bool {
	for _, part := range []string{r.Model.Namespace, r.Model.Name} {
		if part == "" || len(part) > validation.DNS1123LabelMaxLength {
			return false
		}
	}
	return true
}

// Ready tells whether calls that the reference allows are served.
func (r Reference) Ready() bool { return r.State == Enforced || r.Served }

// Facts are what a reference is judged by.
type Facts struct {
	// Key is the model's key, Model the object; nil when it does not exist.
	Key   types.NamespacedName
	Model *v1alpha1.MaaSModelRef
	// Refusal says why the reference is left out of the model's policies: an
	// [apperr.UserError], or nil.
	Refusal error
	// Policy is the generated policy in the cluster.
	Policy Policy
}

// Gone tells whether the model does not exist, or is about to go.
func (f Facts) Gone() bool { return f.Model == nil || f.Model.DeletionTimestamp != nil }

// admitted judges what does not depend on the policy. The second result is
// true when that settles the reference.
func (f Facts) admitted() (Reference, bool) {
	r := Reference{Model: f.Key}
	if user, ok := apperr.AsUser(f.Refusal); ok {
		return r.because(Lost, v1alpha1.ConditionReason(user.Reason), user.Message), true
	}
	if f.Gone() {
		return r.because(Lost, v1alpha1.ReasonNotFound, fmt.Sprintf("MaaSModelRef %s does not exist, or is being deleted: create it, or remove the entry from spec.modelRefs.", f.Key)), true
	}
	r.Valid = true
	if meta.IsStatusConditionFalse(f.Model.Status.Conditions, string(v1alpha1.ConditionRouteUnique)) {
		return r.because(Lost, v1alpha1.ReasonRouteConflict, "Another MaaSModelRef has the policies of the model's HTTPRoute, so every call to this model is refused. Give each model a route of its own."), true
	}
	if f.Model.Status.HTTPRouteName == "" {
		return r.because(Waiting, v1alpha1.ReasonBackendNotReady, fmt.Sprintf("The model has no HTTPRoute yet: see the conditions of MaaSModelRef %s.", f.Key)), true
	}
	return r, false
}

// missing judges a reference that the policy does not hold as it should.
func (r Reference) missing(p Policy, what string) Reference {
	if p.optedOut() {
		return r.because(Lost, v1alpha1.ReasonOptedOut, fmt.Sprintf("The %s is opted out of management and does not hold %s: remove its annotation %s, or edit it by hand.", p.Object.GetKind(), what, v1alpha1.AnnotationManaged))
	}
	return r.because(Waiting, v1alpha1.ReasonNotEnforced, waiting)
}

// enforcement judges a reference that the policy holds by the policy's status.
// While the gateway is busy the reference stays what it was: others' changes
// give the policy new generations all the time.
func (r Reference) enforcement(p Policy, before said) Reference {
	r.Until = p.readiness.Until
	switch {
	case p.readiness.Enforced, p.readiness.Waiting && before.enforced():
		return r.because(Enforced, v1alpha1.ReasonAcceptedEnforced, "")
	case p.readiness.Waiting && before.broken():
		return r.because(Broken, before.Reason, before.Message)
	case p.readiness.Waiting:
		return r.because(Waiting, v1alpha1.ReasonNotEnforced, waiting)
	default:
		return r.because(Broken, p.readiness.Reason, p.readiness.Message)
	}
}

func (r Reference) because(state State, reason v1alpha1.ConditionReason, message string) Reference {
	r.State, r.Reason, r.Message = state, reason, message
	return r
}

// said is what a status says of a reference in the object's present generation;
// the zero value when it says nothing.
type said struct {
	Ready   bool
	Reason  v1alpha1.ConditionReason
	Message string
}

// broken tells whether the policy was said not to be enforced.
func (s said) broken() bool {
	return !s.Ready && s.Message != waiting &&
		(s.Reason == v1alpha1.ReasonNotAccepted || s.Reason == v1alpha1.ReasonNotEnforced)
}

// enforced tells whether the present generation was said to be enforced, and not
// only a former one.
func (s said) enforced() bool { return s.Ready && s.Reason != v1alpha1.ReasonAccepted }

// agrees tells whether the status says just that.
func (s said) agrees(r Reference) bool {
	return s == said{Ready: r.Ready(), Reason: r.Reason, Message: r.Message}
}

// Verdict is what the whole object has come to.
type Verdict struct {
	Phase   v1alpha1.Phase
	Ready   metav1.ConditionStatus
	Reason  v1alpha1.ConditionReason
	Message string
}

// Of folds the references of an object. Lost ones outrank broken policies, and
// those outrank waiting. An object that works for some of its models is Degraded
// while others wait, so that nobody is refused what works. missing is the message
// for an object without any reference.
func Of(references []Reference, missing string) Verdict {
	byState := map[State][]Reference{}
	for _, r := range references {
		byState[r.State] = append(byState[r.State], r)
	}
	lost, broken, waiting := byState[Lost], byState[Broken], byState[Waiting]
	switch {
	case len(references) == 0:
		return Verdict{v1alpha1.PhaseInvalid, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, missing}
	case len(lost) == len(references):
		return Verdict{v1alpha1.PhaseFailed, metav1.ConditionFalse, v1alpha1.ReasonReconcileFailed, lost[0].describe()}
	case len(lost) > 0:
		return Verdict{v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure, lost[0].describe()}
	case len(broken) > 0:
		return Verdict{v1alpha1.PhaseDegraded, metav1.ConditionFalse, v1alpha1.ReasonPartialFailure, broken[0].describe()}
	case len(waiting) > 0 && slices.ContainsFunc(references, Reference.Ready):
		return Verdict{v1alpha1.PhaseDegraded, metav1.ConditionUnknown, v1alpha1.ReasonUnknown, waiting[0].describe()}
	case len(waiting) > 0:
		return Verdict{v1alpha1.PhasePending, metav1.ConditionUnknown, v1alpha1.ReasonUnknown, waiting[0].describe()}
	default:
		return Verdict{v1alpha1.PhaseActive, metav1.ConditionTrue, v1alpha1.ReasonReconciled, ""}
	}
}

func (r Reference) describe() string { return fmt.Sprintf("Model %s: %s", r.Model, r.Message) }

// Until is when the first of the verdicts changes by itself; the zero time when
// none does.
func Until(references []Reference) time.Time {
	var first time.Time
	for _, r := range references {
		if !r.Until.IsZero() && (first.IsZero() || r.Until.Before(first)) {
			first = r.Until
		}
	}
	return first
}

// DescribeConflicts names foreign AuthPolicies on the routes of an object's
// models, sorted, and says what to do about them.
func DescribeConflicts(foreign []types.NamespacedName) string {
	names := make([]string, 0, len(foreign))
	for _, key := range foreign {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return fmt.Sprintf("Other AuthPolicies target the route of a model, and the gateway enforces only one of all there are, as a rule the newest: MaaSModelRef says whose. Delete or retarget: %s.", strings.Join(names, ", "))
}
