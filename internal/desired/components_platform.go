// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	// everyInstallation: there is something for all tenants as long as the Config asks
	// for it.
	everyInstallation = "There is a Config, and its managementState is not Removed."
	monitoring        = "The same, the platform is OpenShift, and it has a monitoring namespace."
	restrictedEgress  = "The same, and the Config's maasApiEgressNetworkPolicy is not Disabled."
)

// platformComponents are the objects that are shared by all tenants.
func platformComponents() []Component {
	role, account := rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	policy := func(id render.ID, v any, wanted string) Component {
		return row(stageNetwork, id, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), v, wanted)
	}
	return []Component{
		row(stageRights, platform.ClusterRoleTemplate, role, values.MaaSAPIClusterRole{}, everyInstallation),
		row(stageRights, platform.CleanupServiceAccountTemplate, account, values.KeyCleanupServiceAccount{}, everyInstallation),
		policy(platform.AllowGatewayTemplate, values.MaaSAPIIngress{}, everyInstallation),
		policy(platform.AllowAuthorinoTemplate, values.MaaSAPIIngress{}, everyInstallation),
		policy(platform.AllowControllerTemplate, values.MaaSAPIIngress{}, everyInstallation),
		policy(platform.AllowMonitoringTemplate, values.MaaSAPIIngress{}, monitoring),
		policy(platform.AllowCleanupTemplate, values.KeyCleanupNetwork{}, everyInstallation),
		policy(platform.RestrictCleanupTemplate, values.KeyCleanupNetwork{}, everyInstallation),
		policy(platform.RestrictEgressTemplate, values.MaaSAPIEgress{}, restrictedEgress),
	}
}
