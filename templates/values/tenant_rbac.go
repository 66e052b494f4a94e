// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// MaaSAPIServiceAccount feeds tenant/serviceaccount-maas-api: the identity of a
// tenant's maas-api.
type MaaSAPIServiceAccount struct {
	// Meta is the ServiceAccount's metadata.
	Meta Meta
}

// MaaSAPIRole feeds tenant/role-maas-api-subscriptions and
// tenant/role-maas-api-database, which differ between tenants by nothing but their
// metadata.
type MaaSAPIRole struct {
	// Meta is the Role's metadata.
	Meta Meta
}

// MaaSAPIGatewayRole feeds tenant/role-maas-api-gateway.
type MaaSAPIGatewayRole struct {
	// Meta is the Role's metadata.
	Meta Meta
	// Gateway is the name of the tenant's Gateway, in the Role's namespace.
	Gateway string
}

// MaaSAPIBinding feeds the templates of maas-api's RoleBindings and its
// ClusterRoleBinding.
type MaaSAPIBinding struct {
	// Meta is the binding's metadata. Its namespace is empty for a
	// ClusterRoleBinding.
	Meta Meta
	// Role is the name of the Role, in the binding's namespace, or of the ClusterRole.
	Role string
	// ServiceAccount gets the role's rights.
	ServiceAccount ServiceAccountRef
}

// ServiceAccountRef names a ServiceAccount.
type ServiceAccountRef struct {
	// Name is the ServiceAccount's name.
	Name string
	// Namespace is its namespace.
	Namespace string
}

// TenantAdminRole feeds tenant/role-tenant-admin: what a tenant's administrators may
// do in the tenant's namespace. The operator binds it to nobody.
type TenantAdminRole struct {
	// Meta is the Role's metadata.
	Meta Meta
	// Config is the name of the tenant's MaasTenantConfig.
	Config string
}

// ObjectAdminRole feeds tenant/role-object-admin: the right to read the tenant's
// AITenant. The operator binds it to nobody.
type ObjectAdminRole struct {
	// Meta is the Role's metadata.
	Meta Meta
	// AITenant is the name of the AITenant, in the Role's namespace.
	AITenant string
}
