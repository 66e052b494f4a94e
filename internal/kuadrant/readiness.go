// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Readiness says whether the gateway enforces a policy as it stands now.
type Readiness struct {
	// Enforced is true when the policy is accepted and enforced for its
	// current generation.
	Enforced bool
	// Waiting is true when nothing is wrong: the policy has not been judged
	// for its current generation yet.
	Waiting bool
	// Reason and Message explain what is missing; they are stable for a state.
	Reason  v1alpha1.ConditionReason
	Message string
}

// ReadinessOf judges a policy by its status. A status of an older generation
// proves nothing. A nil policy does not exist yet.
func ReadinessOf(policy *unstructured.Unstructured) Readiness {
	if policy == nil {
		return Readiness{Waiting: true, Reason: v1alpha1.ReasonNotFound, Message: "the policy has not been created yet"}
	}
	conditions, observed := status(policy)
	if len(conditions) == 0 {
		return Readiness{Waiting: true, Reason: v1alpha1.ReasonConditionsNotFound, Message: "Kuadrant has not judged the policy yet"}
	}
	for _, step := range []struct {
		condition string
		missing   v1alpha1.ConditionReason
	}{
		{"Accepted", v1alpha1.ReasonNotAccepted},
		{"Enforced", v1alpha1.ReasonNotEnforced},
	} {
		condition := find(conditions, step.condition)
		current := condition != nil && current(policy, condition, observed)
		switch {
		case !current || condition.Status == metav1.ConditionUnknown:
			return Readiness{Waiting: true, Reason: step.missing, Message: fmt.Sprintf("Kuadrant has not reported %s for the policy's current generation yet", step.condition)}
		case condition.Status != metav1.ConditionTrue:
			return Readiness{Reason: step.missing, Message: fmt.Sprintf("Kuadrant reports %s=False, reason %s: %s", step.condition, condition.Reason, firstLine(condition.Message))}
		}
	}
	return Readiness{Enforced: true, Reason: v1alpha1.ReasonAcceptedEnforced}
}

// maxQuoted is how much of Kuadrant's words a status repeats, in bytes.
const maxQuoted = 200

// firstLine cuts a message after its first line, or after maxQuoted bytes.
func firstLine(message string) string {
	line, _, more := strings.Cut(message, "\n")
	if len(line) > maxQuoted {
		line, more = strings.ToValidUTF8(line[:maxQuoted], ""), true
	}
	if more {
		line += " ..."
	}
	return line
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
