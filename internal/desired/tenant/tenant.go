// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// The platforms of [Settings.Platform].
const (
	OpenShift  = "openshift"
	Kubernetes = "kubernetes"
)

// Settings are what the manager was started with.
type Settings struct {
	// Platform is [OpenShift] or [Kubernetes].
	Platform string
	// ControllerNamespace is where the operator runs, InfraNamespace where maas-api
	// does, AITenantNamespace where AITenants are, and MonitoringNamespace where the
	// platform's monitoring is; the last may be empty.
	ControllerNamespace, InfraNamespace, AITenantNamespace, MonitoringNamespace string
	// Access are the settings of the access policies.
	Access access.Settings
	// CertIssuer issues serving certificates on [Kubernetes].
	CertIssuer CertIssuer
	// GatewayCAFile is a path in the pods of the Gateways, of the certificate
	// authorities by which they verify maas-api. When it is empty they do not: what
	// makes those pods mounts no authority of the cluster's services.
	GatewayCAFile string
}

// CertIssuer names an issuer of cert-manager. What is empty has the default:
// ClusterIssuer rhai-ca-issuer.
type CertIssuer struct {
	// Kind is ClusterIssuer or Issuer.
	Kind string
	// Name is the issuer's.
	Name string
}

// Input is everything the objects of one tenant depend on.
type Input struct {
	// Config is the tenant's; what its spec leaves out has the documented default.
	Config *v1alpha1.MaasTenantConfig
	// Tenant is the tenant of the Config.
	Tenant tenancy.Context
	// TenantUID is the UID of the AITenant; empty when there is none.
	TenantUID types.UID
	// GatewayExists is false while the tenant's Gateway does not exist. Nothing is
	// wanted in its namespace then, which may not exist either.
	GatewayExists bool
	// DatabaseSecretVersion is the resourceVersion of the Secret with the database's
	// address; empty when it is not known.
	DatabaseSecretVersion string
	// Selector are the labels that the tenant's Deployment selects by; nil when there
	// is none yet.
	Selector map[string]string
	// Served tells by the name of the CustomResourceDefinition which of the kinds
	// that optional objects require the cluster serves.
	Served map[string]bool
	// AcceptKeyHeader allows API keys in x-api-key.
	AcceptKeyHeader bool
	// Leads says which rules of the route to maas-api lead there; the others lead
	// nowhere.
	Leads opening.Leads
	// Settings are the manager's.
	Settings Settings
}

// Output is what should exist.
type Output struct {
	// Guard are the policies of the Gateway itself. They are applied before anything
	// else, also when the rest has to wait.
	Guard []render.Request
	// Workload is the rest.
	Workload []render.Request
	// Warnings say what was not done as somebody wished.
	Warnings []Warning
}

// Access is the part of the Workload that guards maas-api itself.
func (o Output) Access() []render.Request {
	return slices.DeleteFunc(slices.Clone(o.Workload), func(r render.Request) bool { return r.ID != access.MaaSAPIPolicyTemplate })
}

// Route is the part of the Workload that leads to maas-api.
func (o Output) Route() []render.Request {
	return slices.DeleteFunc(slices.Clone(o.Workload), func(r render.Request) bool { return r.ID != RouteTemplate })
}

// Warning is something an administrator should know. It stops nothing.
type Warning struct {
	// Reason is the reason for the condition that shows it.
	Reason v1alpha1.ConditionReason
	// Message is a full sentence, constant for a state.
	Message string
}

// RolesInput is what the Roles of a tenant's administrators depend on.
type RolesInput struct {
	// AITenant is the key of the tenant's AITenant.
	AITenant types.NamespacedName
	// TenantNamespace is the tenant's namespace.
	TenantNamespace string
}

// JobInput is what the revocation of a tenant's keys depends on.
type JobInput struct {
	// AITenant is the key of the AITenant that is being deleted, and UID its UID.
	AITenant types.NamespacedName
	UID      types.UID
	// Tenant is the tenant as it was.
	Tenant tenancy.Context
	// Settings are the manager's.
	Settings Settings
	// RetentionDays is how long the rows of revoked keys are kept; 0 means the
	// default.
	RetentionDays int32
}
