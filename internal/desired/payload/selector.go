// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"maps"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// labelApp tells the two processors apart.
const labelApp = "app"

// instance are labels that only the pods of one processor of one tenant have.
func instance(p processor) map[string]string {
	return map[string]string{labelApp: p.app, v1alpha1.LabelTenantInstance: p.name}
}

// application are the labels of the pods beside those. Earlier releases gave the pods of
// the default tenant on OpenShift those of maas-api, and its Deployments select by them,
// which cannot be changed.
func (b builder) application() map[string]string {
	name, component := v1alpha1.NamePayloadProcessing, v1alpha1.NamePayloadProcessing
	if b.Settings.OpenShift && b.Tenant.ID == "" {
		name, component = v1alpha1.NameMaaSAPI, v1alpha1.ComponentAPI
	}
	return map[string]string{v1alpha1.LabelName: name, v1alpha1.LabelComponent: component, v1alpha1.LabelPartOf: v1alpha1.PartOfMaaS}
}

// podLabels are those of the pods of a processor. The Deployments of the default tenant
// select by all of them but the instance, so the pods of other tenants must lack one:
// what selects other Deployments' pods cannot be scaled, because an autoscaler counts
// them too.
func (b builder) podLabels(p processor) map[string]string {
	labels := b.application()
	if b.Tenant.ID != "" {
		delete(labels, v1alpha1.LabelComponent)
	}
	maps.Copy(labels, instance(p))
	return labels
}

// selector is that of a processor's Deployment, which cannot be changed: that of earlier
// releases, which for the default tenant names no instance.
func (b builder) selector(p processor) map[string]string {
	if b.Tenant.ID != "" {
		return instance(p)
	}
	labels := b.application()
	labels[labelApp] = p.app
	return labels
}
