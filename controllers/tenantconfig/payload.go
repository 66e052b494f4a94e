// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/desired/payload"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// payload is what processes the payload of requests. Without an image there is none, and
// where the cluster has no gateway that could ask the processors nothing of it is of use.
func (r *Reconciler) payload(ctx context.Context, s *scope) *addOn {
	a := &addOn{condition: v1alpha1.ConditionPayloadProcessingReady, state: addon.State{Name: "Payload processing", Wanted: r.PayloadProcessing}}
	switch {
	case !r.PayloadProcessing:
		return a
	case !s.served[payload.FilterCRD]:
		a.state.MissingAPIs = []string{payload.FilterCRD}
		return a
	}
	managed, err := r.pluginsManaged(ctx, s)
	if err != nil {
		a.state.Unread = true
		s.unextended = errors.Join(s.unextended, err)
		return a
	}
	out := payload.Build(payload.Input{
		Config: s.config, Tenant: s.input.Tenant, PluginsManaged: managed, Labels: tenant.Labels(s.input.Tenant, s.config.Namespace),
		Settings: r.Settings.Payload(),
	})
	for _, warning := range out.Warnings {
		s.warn(v1alpha1.ReasonInvalidReplicaAnnotation, warning)
	}
	a.requests = s.offered(a, out.Requests)
	a.last = []render.Request{out.Filter}
	return a
}

// pluginsManaged tells whether somebody handed the configuration of the plugins back. The
// cache lacks one that an earlier release did not label as the operator's.
func (r *Reconciler) pluginsManaged(ctx context.Context, s *scope) (bool, error) {
	key := types.NamespacedName{Namespace: s.input.Tenant.Gateway.Namespace, Name: s.input.Tenant.PayloadPlugins()}
	for _, reader := range []client.Reader{r.Client, r.APIReader} {
		live, err := fetch.Optional(ctx, reader, key, operand(corev1.SchemeGroupVersion.WithKind("ConfigMap")))
		if err != nil {
			return false, err
		}
		if live != nil {
			return live.GetAnnotations()[v1alpha1.AnnotationManaged] == "true", nil
		}
	}
	return false, nil
}

// rescale removes an autoscaler that is no longer wanted before the number of Pods is
// written, which it would overwrite.
func (r *Reconciler) rescale(ctx context.Context, s *scope, a *addOn) error {
	kind := autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	wanted := apply.InventoryOf(a.objects...)
	for _, ref := range s.recorded().Without(wanted) {
		if a.condition != v1alpha1.ConditionPayloadProcessingReady || ref.Kind != kind.Kind || ref.Group != kind.Group {
			continue
		}
		if _, err := r.Applier.Delete(ctx, kind, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}); err != nil {
			return fmt.Errorf("remove %s: %w", ref, err)
		}
	}
	return nil
}

// discardPlugins deletes the configurations of plugins that were written for a tenant
// which is being deleted: although they were left to others, there is nothing that they
// configure any more.
func (r *Reconciler) discardPlugins(ctx context.Context, config *v1alpha1.MaasTenantConfig) error {
	labels := made(config)
	labels[v1alpha1.LabelName] = v1alpha1.NamePayloadProcessing
	var list corev1.ConfigMapList
	if err := r.APIReader.List(ctx, &list, client.MatchingLabels(labels)); err != nil {
		return fmt.Errorf("list the configurations of plugins: %w", err)
	}
	for i := range list.Items {
		plugins := &list.Items[i]
		if plugins.DeletionTimestamp != nil {
			continue
		}
		uid := plugins.UID
		if err := r.Client.Delete(ctx, plugins, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s/%s: %w", plugins.Namespace, plugins.Name, err)
		}
	}
	return nil
}
