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

// There is something for all tenants as long as the Config asks for it.
const everyInstallation = "There is a Config, and its managementState is not Removed."

// platformComponents are the objects that are shared by all tenants.
func platformComponents() []Component {
	policy := func(id render.ID, v any, wanted string) Component {
		return Component{
			Entry:      render.Entry{ID: id, Stage: stageNetwork, GVK: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), Values: v},
			WantedWhen: wanted,
		}
	}
	return []Component{
		{
			Entry: render.Entry{
				ID: platform.ClusterRoleTemplate, Stage: stageRights,
				GVK: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), Values: values.MaaSAPIClusterRole{},
			},
			WantedWhen: everyInstallation,
		},
		{
			Entry: render.Entry{
				ID: platform.CleanupServiceAccountTemplate, Stage: stageRights,
				GVK: corev1.SchemeGroupVersion.WithKind("ServiceAccount"), Values: values.KeyCleanupServiceAccount{},
			},
			WantedWhen: everyInstallation,
		},
		policy(platform.AllowGatewayTemplate, values.MaaSAPIIngress{}, everyInstallation),
		policy(platform.AllowAuthorinoTemplate, values.MaaSAPIIngress{}, everyInstallation),
		policy(platform.AllowControllerTemplate, values.MaaSAPIIngress{}, everyInstallation),
		policy(platform.AllowMonitoringTemplate, values.MaaSAPIIngress{}, "The same, the platform is OpenShift, and it has a monitoring namespace."),
		policy(platform.AllowCleanupTemplate, values.KeyCleanupNetwork{}, everyInstallation),
		policy(platform.RestrictCleanupTemplate, values.KeyCleanupNetwork{}, everyInstallation),
		policy(platform.RestrictEgressTemplate, values.MaaSAPIEgress{}, "The same, and the Config's maasApiEgressNetworkPolicy is not Disabled."),
	}
}
