// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// configReport is the installation.
type configReport struct {
	Name, Ready string
	// Objects is how many shared objects it accounts for.
	Objects int
}

// tenantReport is one tenant.
type tenantReport struct {
	Name, Phase, Namespace, Settings, Gateway, Service string
	// Troubles say what is not as it should be, a line each.
	Troubles []string
}

func (w *world) configReports() []configReport {
	var all []configReport
	for i := range w.configs {
		c := &w.configs[i]
		row := configReport{Name: c.Name, Ready: "Unknown", Objects: len(c.Status.Inventory)}
		if ready := meta.FindStatusCondition(c.Status.Conditions, string(v1alpha1.ConditionReady)); ready != nil {
			row.Ready = string(ready.Status) + ", " + ready.Reason
		}
		all = append(all, row)
	}
	return all
}

func (w *world) tenantReports() []tenantReport {
	var all []tenantReport
	for i := range w.tenants {
		t := &w.tenants[i]
		row := tenantReport{Name: t.Name, Phase: string(t.Status.Phase), Namespace: t.Status.TenantNamespace, Service: w.service(&site{tenant: t.Name})}
		if ref := t.Status.GatewayRef; ref != nil {
			row.Gateway = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}.String()
		}
		if t.Status.Phase != v1alpha1.AITenantPhaseActive || meta.IsStatusConditionTrue(t.Status.Conditions, string(v1alpha1.ConditionDegraded)) {
			row.Troubles = append(row.Troubles, tenantTrouble(t))
		}
		for j := range w.settings {
			settings := &w.settings[j]
			if settings.Namespace != t.Status.TenantNamespace {
				continue
			}
			row.Settings = string(settings.Status.Phase)
			if settings.Status.Phase != v1alpha1.TenantPhaseActive {
				row.Troubles = append(row.Troubles, settingsTrouble(settings))
			}
		}
		all = append(all, row)
	}
	return all
}

// tenantTrouble and settingsTrouble say what is in the way of a tenant.
func tenantTrouble(t *v1alpha1.AITenant) string {
	return fmt.Sprintf("AITenant %s is %s: %s", t.Name, orUnknown(string(t.Status.Phase)), reasonOf(t.Status.Conditions))
}

func settingsTrouble(c *v1alpha1.MaasTenantConfig) string {
	return fmt.Sprintf("MaasTenantConfig %s/%s is %s: %s", c.Namespace, c.Name, orUnknown(string(c.Status.Phase)), reasonOf(c.Status.Conditions))
}

// service is how many Pods of a tenant's maas-api are available.
func (w *world) service(t *site) string {
	for i := range w.deployments {
		if d := &w.deployments[i]; d.Name == t.service() {
			return fmt.Sprintf("%s/%s %d of %d", d.Namespace, d.Name, d.Status.AvailableReplicas, d.Status.Replicas)
		}
	}
	return ""
}

func renderConfigs(w io.Writer, configs []configReport) error {
	b := &block{header: []string{"CONFIG", "READY", "SHARED OBJECTS"}, none: "no Config"}
	for _, c := range configs {
		b.row(c.Name, c.Ready, fmt.Sprint(c.Objects))
	}
	return b.write(w)
}

func renderTenants(w io.Writer, tenants []tenantReport) error {
	b := &block{header: []string{"TENANT", "PHASE", "NAMESPACE", "SETTINGS", "GATEWAY", "MAAS-API"}, none: "no tenants"}
	for _, t := range tenants {
		b.row(t.Name, cmp.Or(t.Phase, "-"), cmp.Or(t.Namespace, "-"), cmp.Or(t.Settings, "-"), cmp.Or(t.Gateway, "-"), cmp.Or(t.Service, "-"))
	}
	if err := b.write(w); err != nil {
		return err
	}
	for _, t := range tenants {
		for _, trouble := range t.Troubles {
			if _, err := fmt.Fprintln(w, trouble); err != nil {
				return err
			}
		}
	}
	return nil
}
