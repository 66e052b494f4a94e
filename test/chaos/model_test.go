// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// The names below are written down here once more, from the documentation: a model
// that asked the operator's own code would agree with whatever that says.

const theDefault = v1alpha1.DefaultAITenantName

// Kinds of the operator's objects.
const (
	roleKind, bindingKind, clusterBindingKind       = "Role", "RoleBinding", "ClusterRoleBinding"
	accountKind, serviceKind, deploymentKind        = "ServiceAccount", "Service", "Deployment"
	cronJobKind, jobKind, policyKind                = "CronJob", "Job", "NetworkPolicy"
	authKind, limitKind, routeKind                  = "AuthPolicy", "TokenRateLimitPolicy", "HTTPRoute"
	certificateKind, destinationKind, configMapKind = "Certificate", "DestinationRule", "ConfigMap"
)

// homeOf is the namespace of a tenant.
func homeOf(tenant string) string {
	if tenant == theDefault {
		return stage.TenantNamespace
	}
	return "ai-tenant-" + tenant
}

func suffixOf(tenant string) string {
	if tenant == theDefault {
		return ""
	}
	return "-" + tenant
}

// guardsOf are the policies of the tenant's Gateway itself.
func guardsOf(tenant string) []ref {
	s := suffixOf(tenant)
	return []ref{
		{authKind, stage.GatewayNamespace, "gateway-default-auth" + s},
		{limitKind, stage.GatewayNamespace, "gateway-default-deny" + s},
	}
}

// servicesOf is what runs for a tenant, with what it needs.
func servicesOf(tenant string) []ref {
	s, home, gateways := suffixOf(tenant), homeOf(tenant), stage.GatewayNamespace
	cleanup := "maas-api-key-cleanup" + s
	if len(cleanup) > 52 {
		sum := sha256.Sum256([]byte(cleanup))
		cleanup = cleanup[:43] + "-" + hex.EncodeToString(sum[:])[:8]
	}
	return []ref{
		{accountKind, infra, "maas-api" + s},
		{clusterBindingKind, "", "maas-api" + s},
		{roleKind, home, "maas-api-subscriptions" + s},
		{bindingKind, home, "maas-api-subscriptions" + s},
		{roleKind, infra, "maas-api-database" + s},
		{bindingKind, infra, "maas-api-database" + s},
		{roleKind, gateways, "maas-api-gateway" + s},
		{bindingKind, gateways, "maas-api-gateway" + s},
		{certificateKind, infra, "maas-api" + s + "-serving-cert"},
		{destinationKind, gateways, "maas-api-backend-tls" + s},
		{serviceKind, infra, "maas-api" + s},
		{deploymentKind, infra, "maas-api" + s},
		{cronJobKind, infra, cleanup},
		{routeKind, infra, "maas-api-route" + s},
		{authKind, infra, "maas-api-auth-policy" + s},
	}
}

// rolesOf are those for the tenant's administrators.
func rolesOf(tenant string) []ref {
	return []ref{
		{roleKind, homeOf(tenant), "aitenant-" + tenant + "-tenant-admin"},
		{roleKind, stage.AITenantNamespace, "aitenant-" + tenant + "-object-admin"},
	}
}

func partsOf(tenant string) []ref { return append(guardsOf(tenant), servicesOf(tenant)...) }

// homeRefs are the namespace and the settings of a tenant.
func homeRefs(tenant string) []ref {
	return []ref{{"Namespace", "", homeOf(tenant)}, settingsOf(tenant)}
}

func settingsOf(tenant string) ref {
	return ref{v1alpha1.KindMaasTenantConfig, homeOf(tenant), v1alpha1.DefaultTenantConfigName}
}

func claimOn(gateway string) ref {
	sum := sha256.Sum256([]byte(stage.GatewayNamespace + "/" + gateway))
	return ref{configMapKind, stage.AITenantNamespace, "gateway-claim-" + hex.EncodeToString(sum[:])[:32]}
}

// gatewayNames are all that tenants may ask for.
func gatewayNames() []string { return append(names(), "spare", stage.GatewayName, "missing") }

const egressPolicy = "maas-api-egress-restrict"

// sharedRefs are the objects of the installation, but for the egress policy.
func sharedRefs() []ref {
	refs := []ref{{"ClusterRole", "", "maas-api"}, {accountKind, infra, "maas-api-cleanup"}}
	for _, name := range []string{"maas-api-allow-gateway", "maas-authorino-allow", "maas-api-allow-deployment-ns", "maas-api-allow-cleanup", "maas-api-cleanup-restrict"} {
		refs = append(refs, ref{policyKind, infra, name})
	}
	return refs
}

// knownNames are all objects the operator may make, but for namespaces, which stay.
func knownNames() map[ref]bool {
	known := map[ref]bool{{policyKind, infra, egressPolicy}: true}
	for _, r := range sharedRefs() {
		known[r] = true
	}
	for _, tenant := range append(names(), theDefault) {
		known[settingsOf(tenant)] = true
		for _, refs := range [][]ref{partsOf(tenant), rolesOf(tenant)} {
			for _, r := range refs {
				known[r] = true
			}
		}
	}
	for _, gateway := range gatewayNames() {
		known[claimOn(gateway)] = true
	}
	return known
}

// optedOut tells whether somebody took an object out of the operator's hands.
func optedOut(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationManaged] == "false"
}
