// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// patience is how long a policy may stay unenforced for one of Kuadrant's reasons
// before that counts, because it passes by itself as a rule.
//
// Unknown is reported for seconds after every change of a policy, until Kuadrant's
// components are in sync. Expressions that read what an AuthPolicy finds out are
// invalid until Kuadrant has seen the AuthPolicy, which is written in the same breath.
func patience(reason string) time.Duration {
	switch reason {
	case "Unknown":
		return 30 * time.Second
	case "InvalidCelExpression":
		return 5 * time.Second
	default:
		return 0
	}
}

// Readiness says whether the gateway enforces a policy as it stands now.
type Readiness struct {
	// Enforced is true when the policy is accepted and enforced for its
	// current generation.
	Enforced bool
	// Waiting is true when nothing is known to be wrong: the policy has not been
	// judged for its current generation yet, or is only just not enforced.
	Waiting bool
	// Until is when waiting is over although nothing changed; the zero time when
	// only a change ends it.
	Until time.Time
	// Reason and Message explain a policy that is neither enforced nor waited
	// for. They are stable for a state: what Kuadrant says beyond its reason
	// differs from time to time.
	Reason  v1alpha1.ConditionReason
	Message string
}

// ReadinessOf judges a policy by its status. A status of an older generation
// proves nothing. A nil policy does not exist yet, and Kuadrant no longer heeds one
// that is being deleted.
func ReadinessOf(policy *unstructured.Unstructured, now time.Time) Readiness {
	if policy == nil {
		return Readiness{Waiting: true}
	}
	if policy.GetDeletionTimestamp() != nil {
		return Readiness{Reason: v1alpha1.ReasonNotEnforced, Message: fmt.Sprintf("The generated %s %s/%s is being deleted and waits for finalizers that others put on it. Remove them, so that it can be made anew.",
			policy.GetKind(), policy.GetNamespace(), policy.GetName())}
	}
	conditions, observed := status(policy)
	for _, step := range []struct {
		condition string
		missing   v1alpha1.ConditionReason
	}{
		{"Accepted", v1alpha1.ReasonNotAccepted},
		{"Enforced", v1alpha1.ReasonNotEnforced},
	} {
		condition := find(conditions, step.condition)
		switch {
		case condition == nil || !current(policy, condition, observed) || condition.Status == metav1.ConditionUnknown:
			return Readiness{Waiting: true}
		case condition.Status == metav1.ConditionTrue:
			continue
		}
		if until := condition.LastTransitionTime.Add(patience(condition.Reason)); now.Before(until) {
			return Readiness{Waiting: true, Until: until}
		}
		return Readiness{Reason: step.missing, Message: fmt.Sprintf("Kuadrant reports %s=False, reason %s, for the generated %s %s/%s, whose status says more. %s",
			step.condition, condition.Reason, policy.GetKind(), policy.GetNamespace(), policy.GetName(), remedy(condition.Reason))}
	}
	return Readiness{Enforced: true, Reason: v1alpha1.ReasonAcceptedEnforced}
}

// remedy is what to do about one of Kuadrant's reasons.
func remedy(reason string) string {
	switch reason {
	case "Overridden":
		return "Delete or retarget the policy that overrides it."
	case "MissingDependency", "MissingResource":
		return "Complete the installation of Kuadrant."
	default:
		return "Resolve that, or look for the cause in the log of Kuadrant."
	}
}

// current tells whether a condition speaks of the policy's generation. Kuadrant
// records it on the status as a whole; a condition's own record counts too.
func current(policy *unstructured.Unstructured, condition *metav1.Condition, observed int64) bool {
	return max(observed, condition.ObservedGeneration) >= policy.GetGeneration()
}

func status(policy *unstructured.Unstructured) ([]metav1.Condition, int64) {
	var parsed struct {
		Status struct {
			ObservedGeneration int64              `json:"observedGeneration"`
			Conditions         []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(policy.Object, &parsed); err != nil {
		return nil, 0
	}
	return parsed.Status.Conditions, parsed.Status.ObservedGeneration
}

func find(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
