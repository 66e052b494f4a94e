// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/managedns"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=configs,verbs=list;watch;create
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=configs,resourceNames=default,verbs=get;patch;delete
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=configs/status,resourceNames=default,verbs=patch

// ensureConfig creates the Config, unless everything is to go. It is made here and is
// part of no manifest: it would race with its own CustomResourceDefinition.
func (r *Reconciler) ensureConfig(ctx context.Context, s *scope) error {
	if s.request() != none {
		return nil
	}
	if s.config == nil {
		config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
		err := r.Client.Create(ctx, config, client.FieldOwner(v1alpha1.FieldOwner))
		if apierrors.IsAlreadyExists(err) {
			s.stopped, s.again = true, waitInterval // The cache is about to show it.
			return nil
		}
		if err != nil {
			return fmt.Errorf("create Config %s: %w", v1alpha1.ConfigName, err)
		}
		ctrl.LoggerFrom(ctx).Info("Created the Config of the installation")
		s.config = config
	}
	if s.config.DeletionTimestamp != nil {
		s.stop(conditions.False(v1alpha1.ReasonConfigTerminating, "Config "+v1alpha1.ConfigName+" is being deleted and waits for finalizers that others put on it. Remove them, so that it can be made anew."), terminatingInterval)
	}
	return nil
}

// annotateConfig sets an annotation of the Config, or removes it when the value is
// empty. It fails with a conflict when the Config is another one by now.
func (r *Reconciler) annotateConfig(ctx context.Context, s *scope, name, value string) error {
	if s.config == nil || s.config.Annotations[name] == value {
		return nil
	}
	var wanted any
	if value != "" {
		wanted = value
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": s.config.UID, "annotations": map[string]any{name: wanted},
	}})
	if err != nil {
		return fmt.Errorf("write annotation %s: %w", name, err)
	}
	after := s.config.DeepCopy()
	if err := r.Client.Patch(ctx, after, client.RawPatch(types.MergePatchType, data), client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("annotate Config %s: %w", v1alpha1.ConfigName, err)
	}
	s.config = after
	return nil
}

// ensureNamespaces repairs the namespaces of AITenants and of maas-api. One that is
// being deleted ends the reconcile; one that may not be changed does not.
func (r *Reconciler) ensureNamespaces(ctx context.Context, s *scope) error {
	var errs []error
	for _, name := range r.namespaces() {
		err := managedns.Repair(ctx, r.Client, name)
		switch {
		case errors.Is(err, managedns.ErrTerminating):
			s.stop(conditions.False(v1alpha1.ReasonNamespaceNotReady, "Namespace "+name+" is being deleted. It is made anew once it is gone; remove what holds it when that takes long."), 0)
		case apierrors.IsForbidden(err):
			s.fail(v1alpha1.ReasonNamespaceNotReady, fmt.Sprintf("Namespace %s could not be made or labelled: grant the operator the verbs create and patch on namespaces, or create it with label %s=true.", name, v1alpha1.LabelGeneratedNamespace))
		case apierrors.IsAlreadyExists(err):
			s.stopped, s.again = true, waitInterval // The cache is about to show it.
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// namespaces are those the installation needs. That of the operator is not its own to
// keep.
func (r *Reconciler) namespaces() []string {
	names := []string{r.Settings.AITenantNamespace}
	if infra := r.Settings.InfraNamespace; infra != "" && infra != r.Settings.ControllerNamespace && infra != r.Settings.AITenantNamespace {
		names = append(names, infra)
	}
	return names
}
