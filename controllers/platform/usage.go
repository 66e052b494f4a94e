// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// +kubebuilder:rbac:groups=opentelemetry.io,resources=opentelemetrycollectors,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=perses.dev,resources=persesdashboards;persesdatasources,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=configmaps;services;serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings;clusterrolebindings,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,resourceNames=usage-collector-application-logs-write;usage-tenancy-proxy-pods-log-read;usage-tenancy-proxy-application-logs-read;usage-tenancy-proxy-tokenreview,verbs=get;create;update;patch;delete

// What is granted to the collector and the proxy, which only those may grant who have it.
// +kubebuilder:rbac:groups=loki.grafana.com,resources=application,resourceNames=logs,verbs=get;create
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create

// usage is what takes the records of requests to models, and shows them. Where there is
// no monitoring, nobody's mistake, there is nothing to take them.
func (r *Reconciler) usage(ctx context.Context, s *scope) (*addOn, error) {
	a := &addOn{state: addon.State{Name: "Usage logging"}}
	if !s.config.Spec.UsageLogging {
		return a, nil
	}
	if r.Settings.MonitoringNamespace == "" {
		s.note("Usage logging is on, and nothing is recorded, because no --monitoring-namespace is set.")
		return a, nil
	}
	namespace, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: r.Settings.MonitoringNamespace}, &corev1.Namespace{})
	if err != nil {
		return nil, err
	}
	if namespace == nil || namespace.DeletionTimestamp != nil {
		s.note("Usage logging is on, and nothing is recorded, because there is no namespace " + r.Settings.MonitoringNamespace + ", which --monitoring-namespace names.")
		return a, nil
	}
	_, collected, err := r.APIs.Served(optionalAPIs()[usage.CollectorTemplate])
	if err != nil {
		return nil, err
	}
	a.requests, err = usage.Build(usage.Input{
		Platform: r.Settings.Platform, GatewayNamespace: r.Settings.GatewayNamespace,
		MonitoringNamespace: r.Settings.MonitoringNamespace, CollectorServed: collected,
	})
	a.state.Wanted = err == nil
	return a, err
}
