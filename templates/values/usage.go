// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// UsageRole feeds the ClusterRoles of usage logging, whose rules stand in the
// templates: usage/clusterrole-usage-collector-application-logs-write,
// usage/clusterrole-usage-tenancy-proxy-pods-log-read and
// usage/clusterrole-usage-tenancy-proxy-application-logs-read.
type UsageRole struct {
	// Meta is the role's metadata. It has no namespace.
	Meta Meta
}

// UsageReviewRole feeds usage/clusterrole-usage-tenancy-proxy-tokenreview: what the
// proxy may ask the API server for.
type UsageReviewRole struct {
	// Meta is the role's metadata. It has no namespace.
	Meta Meta
	// ReadsTLSProfile allows reading the cluster's TLS profile, which only OpenShift
	// has.
	ReadsTLSProfile bool
}

// UsageBinding feeds the bindings of usage logging, each to the ClusterRole of its own
// name: usage/clusterrolebinding-usage-collector-application-logs-write,
// usage/clusterrolebinding-usage-tenancy-proxy-tokenreview,
// usage/rolebinding-usage-tenancy-proxy-pods-log-read and
// usage/rolebinding-usage-tenancy-proxy-application-logs-read.
type UsageBinding struct {
	// Meta is the binding's metadata.
	Meta Meta
	// Role is the name of the ClusterRole.
	Role string
	// ServiceAccount is whom it is granted to.
	ServiceAccount ServiceAccountRef
}

// UsageServiceAccount feeds usage/serviceaccount-usage-tenancy-proxy.
type UsageServiceAccount struct {
	// Meta is the ServiceAccount's metadata.
	Meta Meta
}

// UsageAuthority feeds the ConfigMaps that OpenShift puts the authority of its serving
// certificates into: usage/configmap-usage-logs-service-ca and
// usage/configmap-usage-logs-tenancy-proxy-ca-bundle. They have no data of their own.
type UsageAuthority struct {
	// Meta is the ConfigMap's metadata. Its annotation asks for the authority.
	Meta Meta
}

// UsageCollector feeds usage/opentelemetrycollector-usage-logs: what takes the records
// of the gateways and writes them to the log store.
type UsageCollector struct {
	// Meta is the collector's metadata.
	Meta Meta
	// Replicas is the number of its pods.
	Replicas int64
	// Resources are what a pod may use.
	Resources Resources
	// Port is where gateways send records.
	Port int64
	// LogNamespace is the namespace that records are filed under.
	LogNamespace string
	// Endpoint is the address of the log store for records.
	Endpoint string
	// Authority is the certificate authority of the log store.
	Authority UsageCA
	// Quoted are the attributes that come as JSON strings, sorted.
	Quoted []string
	// Numbers are the attributes that are 0 where the gateway knows none, sorted.
	Numbers []string
	// Streams are the attributes by which records are grouped into streams.
	Streams []string
}

// UsageCA says where a certificate authority is: a key of a ConfigMap.
type UsageCA struct {
	// ConfigMap is the name of the ConfigMap.
	ConfigMap string
	// Key is the key in it.
	Key string
}

// UsageProxyDeployment feeds usage/deployment-usage-logs-tenancy-proxy: what lets users
// read their own records.
type UsageProxyDeployment struct {
	// Meta is the Deployment's metadata.
	Meta Meta
	// Replicas is the number of pods.
	Replicas int64
	// Selector is the Deployment's selector. It cannot be changed once the Deployment
	// exists.
	Selector map[string]string
	// PodLabels are the labels of the pods; Selector is a part of them.
	PodLabels map[string]string
	// ServiceAccount is the name of the pods' ServiceAccount.
	ServiceAccount string
	// RunAsUser is the user id of the process, or empty where the platform chooses it.
	RunAsUser []int64
	// Port is the port of the proxy.
	Port int64
	// Upstream is the address of the log store.
	Upstream string
	// Resources are what a pod may use.
	Resources Resources
	// ServingCertificate is the name of the Secret with tls.crt and tls.key.
	ServingCertificate string
	// Authority is the certificate authority of the log store.
	Authority UsageCA
}

// UsageProxyService feeds usage/service-usage-logs-tenancy-proxy.
type UsageProxyService struct {
	// Meta is the Service's metadata. On OpenShift its annotation has the platform make
	// the serving certificate.
	Meta Meta
	// Selector selects the proxy's pods.
	Selector map[string]string
	// Port is the port of the proxy, on the Service as on the pods.
	Port int64
}

// UsageIngress feeds the NetworkPolicies that say who reaches the collector and the
// proxy: usage/networkpolicy-usage-logs-collector-allow-gateway and
// usage/networkpolicy-usage-tenancy-proxy-allow-perses. Each says itself which pods.
type UsageIngress struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Pods are the labels of the pods the policy is for.
	Pods map[string]string
	// Namespaces are the namespaces the admitted pods are in; empty means all.
	Namespaces []string
	// HostNetwork are the labels of the namespace that stands for the nodes; empty where
	// nodes need no rule.
	HostNetwork map[string]string
	// Port is the port that is open to them.
	Port int64
}

// UsageEgress feeds the NetworkPolicies that say where the collector and the proxy may
// connect to: usage/networkpolicy-usage-logs-collector-egress-restrict and
// usage/networkpolicy-usage-tenancy-proxy-egress-restrict.
type UsageEgress struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Pods are the labels of the pods the policy is for.
	Pods map[string]string
	// DNS says where the cluster's DNS is.
	DNS EgressDefaults
	// LogStores are the instances of the log store that may be asked. There is at least
	// one.
	LogStores []string
	// LogStorePort is their port.
	LogStorePort int64
}

// UsageDatasource feeds the PersesDatasources of usage logs:
// usage/persesdatasource-usage-logs-all and
// usage/persesdatasource-usage-logs-multi-tenancy.
type UsageDatasource struct {
	// Meta is the datasource's metadata.
	Meta Meta
	// Title is what people see.
	Title string
	// URL is the full address, of the log store or of the proxy before it.
	URL string
	// Secret is the name of what Perses keeps for the connection.
	Secret string
	// Authority is the certificate authority of the address.
	Authority UsageCA
}

// UsageLogsDashboard feeds the PersesDashboards of usage logs:
// usage/persesdashboard-dashboard-4-maas-usage-logs-admin and
// usage/persesdashboard-dashboard-5-maas-usage-logs.
type UsageLogsDashboard struct {
	// Meta is the dashboard's metadata.
	Meta Meta
	// Title is what people see.
	Title string
	// Datasource is the name of the datasource of all panels.
	Datasource string
	// Filters are the names of the variables that narrow what is shown, sorted.
	Filters []string
	// Totals are single numbers, in their order from left to right. There are four.
	Totals []UsageLogsPanel
	// OverTime are curves, one below the other. There are two.
	OverTime []UsageLogsPanel
	// Records is the query for the records themselves.
	Records string
}

// UsageLogsPanel is one panel of a dashboard.
type UsageLogsPanel struct {
	// Key identifies the panel in its dashboard.
	Key string
	// Title is what people see.
	Title string
	// Query is in LogQL.
	Query string
}

// UsageAccessLog feeds gateway/envoyfilter-maas-model-access-logs: how a tenant's Gateway
// tells the collector of requests to models.
type UsageAccessLog struct {
	// Meta is the EnvoyFilter's metadata.
	Meta Meta
	// Gateway is the name of the tenant's Gateway, in the EnvoyFilter's namespace.
	Gateway string
	// Collector and CollectorPort are the address of the collector.
	Collector string
	// CollectorPort is explained at Collector.
	CollectorPort int64
	// Paths is a regular expression of RE2 for the paths of requests that use tokens,
	// with their query.
	Paths string
	// LuaSuffixes are the ends of the same paths, without their query.
	LuaSuffixes []string
	// Tokens are the numbers that are taken from answers.
	Tokens []UsageToken
	// Attributes are those of a record, sorted by name.
	Attributes []UsageAttribute
	// Resource are attributes of the Gateway itself, sorted by name.
	Resource []UsageAttribute
}

// UsageToken is a number in the member usage of an answer.
type UsageToken struct {
	// Attribute is what records call it.
	Attribute string
	// Member is its name in the answer.
	Member string
}

// UsageAttribute is an attribute of records.
type UsageAttribute struct {
	// Name is the attribute's name.
	Name string
	// Value is a format string of Envoy's access logs.
	Value string
}
