// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

const (
	// maxLabel bounds the names of Services and the values of labels, and with them
	// most names; maxCronJob those of CronJobs, whose Jobs get a suffix, and maxJob
	// those of Jobs, whose Pods get one.
	maxLabel   = 63
	maxCronJob = 52
	maxJob     = 57

	hashLength = 8
)

// MaaSAPI is the name of the tenant's maas-api: its Deployment, Service and
// ServiceAccount.
func (c Context) MaaSAPI() string { return suffixed("maas-api", c.ID) }

// MaaSAPIRoute is the name of the HTTPRoute that leads to the tenant's maas-api.
func (c Context) MaaSAPIRoute() string { return suffixed("maas-api-route", c.ID) }

// MaaSAPIAuthPolicy is the name of the AuthPolicy on that HTTPRoute.
func (c Context) MaaSAPIAuthPolicy() string { return suffixed("maas-api-auth-policy", c.ID) }

// MaaSAPIBackendTLS is the name of the DestinationRule for the tenant's maas-api.
func (c Context) MaaSAPIBackendTLS() string { return suffixed("maas-api-backend-tls", c.ID) }

// MaaSAPIServingCert is the name of the Secret with the certificate of the
// tenant's maas-api, and of the Certificate that fills it where cert-manager does.
func (c Context) MaaSAPIServingCert() string {
	return suffixed("maas-api", c.ID) + "-serving-cert"
}

// MaaSAPISubscriptionsRole is the name of the Role of maas-api in the tenant's
// namespace, MaaSAPIGatewayRole of that in the Gateway's and MaaSAPIDatabaseRole
// of that in its own. Their RoleBindings have the same names.
func (c Context) MaaSAPISubscriptionsRole() string { return suffixed("maas-api-subscriptions", c.ID) }

// MaaSAPIGatewayRole is explained at [Context.MaaSAPISubscriptionsRole].
func (c Context) MaaSAPIGatewayRole() string { return suffixed("maas-api-gateway", c.ID) }

// MaaSAPIDatabaseRole is explained at [Context.MaaSAPISubscriptionsRole].
func (c Context) MaaSAPIDatabaseRole() string { return suffixed("maas-api-database", c.ID) }

// KeyCleanup is the name of the CronJob that deletes expired keys.
func (c Context) KeyCleanup() string {
	return bounded(suffixed("maas-api-key-cleanup", c.ID), maxCronJob)
}

// GatewayDefaultAuth and GatewayDefaultDeny are the names of the policies of the
// tenant's Gateway itself.
func (c Context) GatewayDefaultAuth() string { return suffixed("gateway-default-auth", c.ID) }

// GatewayDefaultDeny is explained at [Context.GatewayDefaultAuth].
func (c Context) GatewayDefaultDeny() string { return suffixed("gateway-default-deny", c.ID) }

// KeyRevocation is the name of the Job that revokes the keys of a tenant being
// deleted.
func KeyRevocation(aiTenant string) string {
	return bounded("maas-api-revoke-keys-"+aiTenant, maxJob)
}

// TenantAdminRole is the name of the Role for a tenant's administrators in the
// tenant's namespace.
func TenantAdminRole(aiTenant string) string {
	return boundedMiddle("aitenant-", aiTenant, "-tenant-admin", maxLabel)
}

// ObjectAdminRole is the name of the Role by which they may read their AITenant.
func ObjectAdminRole(aiTenant string) string {
	return boundedMiddle("aitenant-", aiTenant, "-object-admin", maxLabel)
}

// GatewayClaim is the name of the ConfigMap by which a tenant claims a Gateway:
// the same for all who want the same one.
func GatewayClaim(gatewayNamespace, gatewayName string) string {
	sum := sha256.Sum256([]byte(gatewayNamespace + "/" + gatewayName))
	return "gateway-claim-" + hex.EncodeToString(sum[:])[:32]
}

// Reserved tells whether an AITenant of that name would have an object with the
// name of a shared one.
func Reserved(aiTenant string) bool { return suffixed("maas-api", aiTenant) == CleanupServiceAccount }

// CleanupServiceAccount is the shared ServiceAccount of the jobs about keys. It has
// no rights and no token.
const CleanupServiceAccount = "maas-api-cleanup"

// bounded shortens a name that is too long and tells it apart by a hash. One that ends
// like such a name gets a hash too: nobody can choose a name that another one was
// shortened to.
func bounded(name string, limit int) string {
	if len(name) <= limit && !endsLikeHash(name) {
		return name
	}
	name, hash := name[:min(len(name), limit-hashLength-1)], shortHash(name)
	return strings.TrimRight(name, "-.") + "-" + hash
}

// endsLikeHash tells whether a name ends with a dash and hexadecimal digits as
// [shortHash] makes them.
func endsLikeHash(name string) bool {
	at := len(name) - hashLength - 1
	return at >= 0 && name[at] == '-' && strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// boundedMiddle shortens only the part in the middle, and tells names apart by its
// hash at the end.
func boundedMiddle(before, middle, after string, limit int) string {
	name := before + middle + after
	if len(name) <= limit {
		return name
	}
	room := limit - len(before) - len(after) - hashLength - 1
	return before + strings.TrimRight(middle[:room], "-.") + after + "-" + shortHash(middle)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// GatewayOf is the Gateway an AITenant asks for: the one it names, else the one
// with its own name.
func (s Settings) GatewayOf(t *v1alpha1.AITenant) types.NamespacedName {
	name := t.Name
	if ref := t.Spec.Gateway; ref != nil && ref.Name != "" {
		name = ref.Name
	}
	return types.NamespacedName{Namespace: s.Gateway.Namespace, Name: name}
}

// FormerGatewayAuth are the names that earlier releases gave the AuthPolicy on a
// tenant's Gateway: a fixed one on the default Gateway, one made of the Gateway's name
// on others. A Gateway may have become the default one since, so that has both.
func (s Settings) FormerGatewayAuth(gateway types.NamespacedName) []types.NamespacedName {
	names := []types.NamespacedName{{Namespace: gateway.Namespace, Name: gateway.Name + "-maas-auth"}}
	if gateway == s.Gateway {
		names = append(names, types.NamespacedName{Namespace: gateway.Namespace, Name: "maas-gateway-auth"})
	}
	return names
}
