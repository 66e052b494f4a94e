// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Fixed names of the tests.
const (
	defaultNamespace  = "models-as-a-service"
	aitenantNamespace = "ai-tenants"
	infraNamespace    = "odh-ai-gateway-infra"
	gatewayNamespace  = "openshift-ingress"
	defaultGateway    = "maas-default-gateway"
)

func tenancies() tenancy.Settings {
	return tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: gatewayNamespace, Name: defaultGateway},
		DefaultNamespace: defaultNamespace, AITenantNamespace: aitenantNamespace, Discovery: true,
	}
}

func tenantSettings() tenant.Settings {
	return tenant.Settings{
		Platform: tenant.Kubernetes, ControllerNamespace: "opendatahub", InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace,
		Access: access.Settings{InfraNamespace: infraNamespace, Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60},
	}
}
