// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// PayloadServiceAccount feeds payload/serviceaccount-payload-processing: the identity of
// both processors of a tenant.
type PayloadServiceAccount struct {
	// Meta is the ServiceAccount's metadata.
	Meta Meta
}

// PayloadReader feeds platform/clusterrole-payload-processing-reader: what every
// processor may read in the whole cluster. Secrets are not among it.
type PayloadReader struct {
	// Meta is the role's metadata. It has no namespace.
	Meta Meta
}

// PayloadReaderBinding feeds payload/clusterrolebinding-payload-processing-reader.
type PayloadReaderBinding struct {
	// Meta is the binding's metadata. It has no namespace.
	Meta Meta
	// Role is the name of the ClusterRole.
	Role string
	// ServiceAccount gets the role's rights.
	ServiceAccount ServiceAccountRef
}

// PayloadPlugins feeds payload/configmap-payload-processing-plugins: what both processors
// do. Unless its annotation opendatahub.io/managed is "true" it is written once.
type PayloadPlugins struct {
	// Meta is the ConfigMap's metadata, with that annotation.
	Meta Meta
}

// PayloadDeployment feeds payload/deployment-payload-processing and
// payload/deployment-payload-pre-processing.
type PayloadDeployment struct {
	// Meta is the Deployment's metadata.
	Meta Meta
	// Replicas is the number of pods, or is empty where an autoscaler decides it.
	Replicas []int64
	// Selector is the Deployment's selector. It cannot be changed once the Deployment
	// exists.
	Selector map[string]string
	// PodLabels are the labels of the pods; Selector is a part of them.
	PodLabels map[string]string
	// ServiceAccount is the name of the pods' ServiceAccount.
	ServiceAccount string
	// RunAsUser is the user id of the process, or empty where the platform chooses it.
	RunAsUser []int64
	// Plugins is the name of the ConfigMap with what the processor does.
	Plugins string
	// Tenant says whose requests are processed.
	Tenant PayloadTenant
	// Resources are what a pod may use.
	Resources Resources
}

// PayloadTenant says whose requests are processed.
type PayloadTenant struct {
	// GatewayName and GatewayNamespace name the tenant's Gateway.
	GatewayName string
	// GatewayNamespace is explained at GatewayName.
	GatewayNamespace string
	// Namespace is where the tenant's subscriptions and auth policies are.
	Namespace string
}

// PayloadService feeds payload/service-payload-processing and
// payload/service-payload-pre-processing.
type PayloadService struct {
	// Meta is the Service's metadata.
	Meta Meta
	// Selector selects the pods of one processor of one tenant and no others.
	Selector map[string]string
	// Port is the port of the processor, on the Service as on the pods.
	Port int64
}

// PayloadTLS feeds payload/destinationrule-payload-processing and
// payload/destinationrule-payload-pre-processing: how the gateway reaches a processor.
type PayloadTLS struct {
	// Meta is the DestinationRule's metadata.
	Meta Meta
	// Host is the full name of the processor's Service.
	Host string
}

// PayloadFilter feeds payload/envoyfilter-payload-processing: where in the gateway the
// processors are asked.
type PayloadFilter struct {
	// Meta is the EnvoyFilter's metadata.
	Meta Meta
	// Gateway is the name of the tenant's Gateway, in the same namespace.
	Gateway string
	// Anchors are the names that the filter which decides about requests may have. The
	// pre-processor is asked before it, the processor after it. A gateway has one of
	// them.
	Anchors []string
	// PreProcessing and Processing are the full names of the processors' Services.
	PreProcessing string
	// Processing is explained at PreProcessing.
	Processing string
	// Port is the port of both.
	Port int64
	// Unprocessed are the names, in the gateway's configuration, of the routes whose
	// requests are no processor's business: all that lead to maas-api.
	Unprocessed []string
}

// PayloadNetwork feeds payload/networkpolicy-payload-processing.
type PayloadNetwork struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Instances are the values of the label maas.opendatahub.io/tenant-instance of the
	// pods the policy is for: those of both processors.
	Instances []string
	// GatewayNamespace is where the pods of the Gateways are.
	GatewayNamespace string
	// MonitoringNamespaces are those from which metrics are read; empty means nowhere.
	MonitoringNamespaces []string
	// Port is the port of the processors.
	Port int64
}

// PayloadAutoscaler feeds payload/horizontalpodautoscaler-payload-processing.
type PayloadAutoscaler struct {
	// Meta is the autoscaler's metadata.
	Meta Meta
	// Deployment is the name of the Deployment that is scaled.
	Deployment string
	// MinReplicas and MaxReplicas bound the number of pods.
	MinReplicas int64
	// MaxReplicas is explained at MinReplicas.
	MaxReplicas int64
	// CPU and Memory are the mean use aimed at, in percent of what is requested.
	CPU int64
	// Memory is explained at CPU.
	Memory int64
}
