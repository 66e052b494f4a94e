// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// cleanUp removes the policies generated for the model and lets the model go. They
// carry no owner reference, so the garbage collector would not. Policies that opted
// out of management stay behind, and an event says so.
func (r *Reconciler) cleanUp(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.model, v1alpha1.FinalizerModelCleanup) {
		return nil
	}
	kinds := []schema.GroupVersionKind{kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy}
	if len(validation.IsValidLabelValue(s.model.Name)) > 0 {
		kinds = nil // Nothing can carry the name as a label, nor can the API server be asked for it.
	}
	var errs []error
	for _, kind := range kinds {
		deletions, err := r.Applier.DeleteAllByLabels(ctx, kind, generatedFor(s.model), s.model.Namespace)
		errs = append(errs, err)
		r.reportLeftBehind(ctx, s.model, deletions)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the policies of MaaSModelRef %s: %w", s.key(), err)
	}
	return client.IgnoreNotFound(r.patchFinalizers(ctx, s.model, controllerutil.RemoveFinalizer))
}

// generatedFor selects the model's generated policies in its own namespace. The
// label with the namespace is left out: policies of earlier releases lack it.
func generatedFor(model *v1alpha1.MaaSModelRef) map[string]string {
	return map[string]string{
		v1alpha1.LabelModel:     model.Name,
		v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
	}
}

func (r *Reconciler) reportLeftBehind(ctx context.Context, model *v1alpha1.MaaSModelRef, deletions []apply.Deletion) {
	for _, d := range deletions {
		if d.Outcome != apply.OptedOut {
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Leaving a policy behind that opted out of management", "kind", d.Ref.Kind, "name", d.Ref.Name)
		r.Events.Eventf(model, nil, corev1.EventTypeWarning, string(v1alpha1.ReasonOptedOut), "Delete",
			"%s %s is annotated %s=false and stays behind: delete it when it is no longer needed.", d.Ref.Kind, d.Ref.Name, v1alpha1.AnnotationManaged)
	}
}
