// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import "github.com/opendatahub-io/maas-operator/api/v1alpha1"

// The components of maas-api beside the service itself, which is
// [v1alpha1.ComponentAPI]: the jobs about keys.
const (
	ComponentKeyCleanup    = "key-cleanup"
	ComponentKeyRevocation = "key-revocation"
)

// labelApp is on the pods of jobs only, beside the labels of their component: network
// policies treat them apart.
const labelApp = "app"

// PodLabels are on the pods of a component of maas-api, of whatever tenant.
func PodLabels(component string) map[string]string {
	return map[string]string{
		v1alpha1.LabelComponent: component,
		v1alpha1.LabelName:      v1alpha1.NameMaaSAPI,
		v1alpha1.LabelPartOf:    v1alpha1.PartOfMaaS,
	}
}

// KeyCleanupPodLabels are on the pods that ask maas-api to delete expired keys.
func KeyCleanupPodLabels() map[string]string {
	labels := PodLabels(ComponentKeyCleanup)
	labels[labelApp] = "maas-api-cleanup"
	return labels
}

// KeyRevocationPodLabels are on the pods that revoke the keys of a tenant being deleted.
func KeyRevocationPodLabels() map[string]string {
	labels := PodLabels(ComponentKeyRevocation)
	labels[labelApp] = "maas-api-revocation"
	return labels
}
