// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/addon"
	"github.com/opendatahub-io/maas-operator/internal/desired/telemetry"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// usageLogs is what has the Gateway make records of requests to models, when the Config
// asks for it and there is somewhere to send them.
func (r *Reconciler) usageLogs(ctx context.Context, s *scope) (*addOn, error) {
	a := &addOn{condition: v1alpha1.ConditionUsageLogsReady, state: addon.State{Name: "Usage logging"}}
	monitoring := s.input.Settings.MonitoringNamespace
	if !s.usageLogging || monitoring == "" {
		return a, nil
	}
	namespace, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: monitoring}, &corev1.Namespace{})
	if err != nil {
		a.state.Wanted, a.state.Unread = true, true
		return a, err
	}
	if namespace == nil || namespace.DeletionTimestamp != nil {
		return a, nil
	}
	a.state.Wanted = true
	a.requests = s.offered(a, []render.Request{usage.TenantFilter(usage.TenantInput{
		Tenant: s.input.Tenant, Labels: tenant.Labels(s.input.Tenant, s.config.Namespace),
		MonitoringNamespace: monitoring, Logs: telemetry.SwitchesOf(s.config.Spec.Telemetry).Logs,
	})})
	return a, nil
}
