// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=podmonitors;prometheusrules;servicemonitors,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.rhobs,resources=prometheusrules,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=perses.dev,resources=persesdashboards,verbs=get;list;watch;create;patch;delete

// monitoring is what the platform's monitoring is told. Where there is no monitoring,
// which is nobody's mistake, there is nothing to tell.
func (r *Reconciler) monitoring(ctx context.Context, s *scope) (*addOn, error) {
	a := &addOn{state: addon.State{Name: "Monitoring"}}
	if r.Settings.MonitoringNamespace == "" {
		return a, nil
	}
	namespace, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: r.Settings.MonitoringNamespace}, &corev1.Namespace{})
	if err != nil {
		return nil, err
	}
	if namespace == nil || namespace.DeletionTimestamp != nil {
		return a, nil
	}
	_, stacks, err := r.APIs.Served(optionalAPIs()[monitoring.StackAlertsTemplate])
	if err != nil {
		return nil, err
	}
	out, err := monitoring.Build(monitoring.Input{
		Platform: r.Settings.Platform, ControllerNamespace: r.Settings.ControllerNamespace, InfraNamespace: r.Settings.InfraNamespace,
		GatewayNamespace: r.Settings.GatewayNamespace, MonitoringNamespace: r.Settings.MonitoringNamespace,
		AuthorinoNamespaces: r.Settings.AuthorinoNamespaces, Stacks: stacks, LimitadorInterval: s.config.Spec.LimitadorScrapeInterval,
	})
	if err != nil {
		return nil, err
	}
	for _, warning := range out.Warnings {
		s.note(warning)
	}
	a.state.Wanted, a.requests = true, out.Requests
	return a, nil
}
