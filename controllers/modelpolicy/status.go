// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// setConditions puts this controller's conditions onto the model. Their
// messages name no subscription and no auth policy: whoever may read a model
// need not know its subscribers.
func (r *Reconciler) setConditions(s *scope) {
	r.set(s, v1alpha1.ConditionPoliciesApplied, s.applied)
	if s.route.Status != "" {
		r.set(s, v1alpha1.ConditionRouteUnique, s.route)
	}
	if s.output.AuthPolicy != nil {
		r.set(s, v1alpha1.ConditionSubjectsInlined, inlined(s.output))
		return
	}
	conditions.Remove(&s.ref.Status.Conditions, v1alpha1.ConditionSubjectsInlined)
}

func inlined(out model.Output) conditions.Value {
	if out.SubjectsInlined {
		return conditions.True(v1alpha1.ReasonSubjectsInlined, "")
	}
	return conditions.False(v1alpha1.ReasonTooManySubjects, "The model's auth policies name more subjects than a gateway policy can carry (256 subjects, 16 KiB), so maas-api alone decides who may call. Use groups instead of users to get below the bound.")
}

// set puts one condition and records an event when its status changed.
func (r *Reconciler) set(s *scope, kind v1alpha1.ConditionType, value conditions.Value) {
	transition := conditions.Set(&s.ref.Status.Conditions, kind, s.ref.Generation, value)
	if !transition.Existed() || !transition.StatusChanged() {
		return
	}
	severity := corev1.EventTypeNormal
	if value.Status == metav1.ConditionFalse {
		severity = corev1.EventTypeWarning
	}
	r.Events.Eventf(s.ref, nil, severity, value.Reason, string(v1alpha1.ActionReconcile), "%s: %s", kind, value.Message)
}
