// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// observe takes note of what became of one object, and tells when somebody had
// changed it: whoever did should know that it cannot last.
func (r *Reconciler) observe(ctx context.Context, s *scope, object *unstructured.Unstructured, result apply.Result) {
	switch result.Outcome {
	case apply.Unchanged, apply.Created, apply.Updated:
		s.placed = append(s.placed, object)
	default:
	}
	if kuadrant.Displaced(result.Live) {
		s.displaced = append(s.displaced, object.GroupVersionKind())
	}
	if !result.Repaired {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Repairing a generated object that somebody changed or deleted", "policyKind", object.GetKind(), "policy", object.GetName())
	// The policy is named as related, so that repairs of two policies are two events.
	r.Events.Eventf(s.ref, object, corev1.EventTypeWarning, string(v1alpha1.EventDriftRepaired), string(v1alpha1.ActionReconcile),
		"Somebody changed or deleted the generated %s %s, and it was put back. Annotate it %s=false to manage it by hand.", object.GetKind(), object.GetName(), v1alpha1.AnnotationManaged)
}
