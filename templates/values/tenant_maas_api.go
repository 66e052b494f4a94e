// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// MaaSAPIDeployment feeds tenant/deployment-maas-api: the pods of a tenant's
// maas-api.
type MaaSAPIDeployment struct {
	// Meta is the Deployment's metadata.
	Meta Meta
	// Replicas is the number of pods, 1 to 100.
	Replicas int64
	// Selector is the Deployment's selector. It cannot be changed once the Deployment
	// exists.
	Selector map[string]string
	// PodLabels are the labels of the pods; Selector is a part of them.
	PodLabels map[string]string
	// PodAnnotations are the annotations of the pods; empty means none. A change
	// replaces the pods.
	PodAnnotations map[string]string
	// ServiceAccount is the name of the pods' ServiceAccount.
	ServiceAccount string
	// RunAsUser is the user id of the process, or empty where the platform chooses it.
	RunAsUser []int64
	// Tenant says whom maas-api serves.
	Tenant MaaSAPITenant
	// APIKeys bounds the life of API keys.
	APIKeys MaaSAPIKeys
	// Resources are what a pod may use.
	Resources Resources
	// ServingCertificate is the name of the Secret with tls.crt and tls.key.
	ServingCertificate string
	// Authority is where the certificate authority is that signs the certificates of
	// services.
	Authority Authority
}

// MaaSAPITenant says whom a maas-api serves.
type MaaSAPITenant struct {
	// Name is the tenant's name.
	Name string
	// UID is the UID of the tenant's AITenant; empty when there is none. Keys of
	// another UID become invalid.
	UID string
	// Namespace is where the tenant's subscriptions and auth policies are.
	Namespace string
	// GatewayName and GatewayNamespace name the tenant's Gateway.
	GatewayName string
	// GatewayNamespace is explained at GatewayName.
	GatewayNamespace string
}

// MaaSAPIKeys bounds the life of API keys.
type MaaSAPIKeys struct {
	// MaxExpirationDays is the longest life of a key.
	MaxExpirationDays int64
	// DeletionRetentionDays is how long the rows of keys are kept that were
	// invalidated by deleting their tenant.
	DeletionRetentionDays int64
}

// Resources are the resources of a container, as quantities.
type Resources struct {
	// RequestCPU and RequestMemory are set aside for the container.
	RequestCPU string
	// RequestMemory is explained at RequestCPU.
	RequestMemory string
	// LimitCPU and LimitMemory bound it.
	LimitCPU string
	// LimitMemory is explained at LimitCPU.
	LimitMemory string
}

// Authority says where a pod finds a certificate authority: in exactly one of a
// ConfigMap and a Secret.
type Authority struct {
	// ConfigMap holds the name of the ConfigMap, or is empty.
	ConfigMap []string
	// Secret holds the name of the Secret, or is empty.
	Secret []string
	// Key is the key in it.
	Key string
}

// MaaSAPIService feeds tenant/service-maas-api.
type MaaSAPIService struct {
	// Meta is the Service's metadata. On OpenShift its annotation has the platform
	// make the serving certificate.
	Meta Meta
	// Selector selects the pods of the tenant's Deployment and no others.
	Selector map[string]string
	// Port is the port of the API, on the Service as on the pods.
	Port int64
}

// MaaSAPIRoute feeds tenant/httproute-maas-api-route: what the gateway passes on to
// maas-api.
type MaaSAPIRoute struct {
	// Meta is the HTTPRoute's metadata.
	Meta Meta
	// GatewayName and GatewayNamespace name the Gateway.
	GatewayName string
	// GatewayNamespace is explained at GatewayName.
	GatewayNamespace string
	// Service is the name of maas-api's Service, in the HTTPRoute's namespace, and Port
	// its port.
	Service string
	// Port is explained at Service.
	Port int64
	// Paths are the rules, one for each, in their order: others refer to rules by
	// their place.
	Paths []RoutePath
}

// RoutePath is a path that leads to maas-api.
type RoutePath struct {
	// Type is Exact or PathPrefix.
	Type string
	// Path is what clients ask for.
	Path string
	// Leads is false while the path is not guarded: then the rule has no backends, and
	// the gateway answers 500.
	Leads bool
	// Rewrite is what takes the path's place, or empty: the path stays.
	Rewrite []PathRewrite
}

// PathRewrite replaces a path.
type PathRewrite struct {
	// Full replaces the whole path; otherwise only what the rule matched, up to the
	// next slash, is replaced.
	Full bool
	// Target is the new path.
	Target string
}

// MaaSAPICertificate feeds tenant/certificate-maas-api-serving-cert, which
// cert-manager fulfils.
type MaaSAPICertificate struct {
	// Meta is the Certificate's metadata.
	Meta Meta
	// Secret is the name of the Secret that holds the certificate.
	Secret string
	// DNSNames are the names the certificate is for.
	DNSNames []string
	// IssuerKind is ClusterIssuer or Issuer, and IssuerName the issuer's name.
	IssuerKind string
	// IssuerName is explained at IssuerKind.
	IssuerName string
}

// MaaSAPIBackendTLS feeds gateway/destinationrule-maas-api-backend-tls: how the
// gateway reaches maas-api.
type MaaSAPIBackendTLS struct {
	// Meta is the DestinationRule's metadata.
	Meta Meta
	// Host is the full name of maas-api's Service.
	Host string
	// Port is its port.
	Port int64
	// Verify has the gateway verify the certificate, or is empty: it is not verified.
	Verify []BackendVerification
}

// BackendVerification says what a gateway verifies a certificate by.
type BackendVerification struct {
	// CAFile is a path in the gateway's pods, of certificate authorities in PEM.
	CAFile string
	// Names are those of which the certificate must have one.
	Names []string
}
