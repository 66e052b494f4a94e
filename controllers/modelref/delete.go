// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/generated"
)

// cleanUp removes the policies generated for the model and lets the model go.
// Policies that opted out of management stay behind, and an event says so.
func (r *Reconciler) cleanUp(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.model, v1alpha1.FinalizerModelCleanup) {
		return nil
	}
	deletions, err := generated.Remove(ctx, r.Applier, s.key())
	r.reportLeftBehind(ctx, s.model, deletions)
	if err != nil {
		return err
	}
	return finalizer.Drop(ctx, r.Client, s.model, v1alpha1.FinalizerModelCleanup)
}

func (r *Reconciler) reportLeftBehind(ctx context.Context, model *v1alpha1.MaaSModelRef, deletions []apply.Deletion) {
	for _, d := range deletions {
		if d.Outcome != apply.OptedOut {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Leaving a policy behind that opted out of management", "kind", d.Ref.Kind, "name", d.Ref.Name)
		r.Events.Eventf(model, nil, corev1.EventTypeWarning, string(v1alpha1.ReasonOptedOut), string(v1alpha1.ActionDelete),
			"%s %s is annotated %s=false and stays behind: delete it when it is no longer needed.", d.Ref.Kind, d.Ref.Name, v1alpha1.AnnotationManaged)
	}
}
