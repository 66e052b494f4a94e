// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// MaaSAPIIngress feeds the NetworkPolicies that admit Pods of other namespaces to
// maas-api: platform/networkpolicy-maas-api-allow-gateway,
// platform/networkpolicy-maas-authorino-allow,
// platform/networkpolicy-maas-api-allow-deployment-ns and
// platform/networkpolicy-maas-api-allow-monitoring. Each says itself which Pods.
type MaaSAPIIngress struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Pods are the labels of the Pods the policy is for.
	Pods map[string]string
	// Namespaces are the namespaces the admitted Pods are in. There is at least one.
	Namespaces []string
	// Port is the port that is open to them.
	Port int64
}

// KeyCleanupNetwork feeds the two ends of the way from the jobs about keys to
// maas-api: platform/networkpolicy-maas-api-allow-cleanup and
// platform/networkpolicy-maas-api-cleanup-restrict.
type KeyCleanupNetwork struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Pods are the labels of the Pods the policy is for.
	Pods map[string]string
	// PeerPods are the labels of the Pods at the other end, in the same namespace.
	PeerPods map[string]string
	// Port is the port of maas-api.
	Port int64
}

// MaaSAPIEgress feeds platform/networkpolicy-maas-api-egress-restrict: where maas-api
// may connect to.
type MaaSAPIEgress struct {
	// Meta is the policy's metadata.
	Meta Meta
	// Pods are labels of the Pods the policy is for. They also have the label
	// maas.opendatahub.io/tenant-instance.
	Pods map[string]string
	// Defaults holds one element unless an administrator replaced the default rules:
	// DNS, the Kubernetes API and everything else.
	Defaults []EgressDefaults
	// Rules is a list of NetworkPolicyEgressRule of an administrator, to be added to
	// the defaults if there are any. At least one of both is there.
	Rules JSON
}

// EgressDefaults says where the cluster's DNS is.
type EgressDefaults struct {
	// DNSNamespace is the namespace of the DNS servers.
	DNSNamespace string
	// DNSPods are their labels.
	DNSPods map[string]string
	// DNSPorts are their ports, for UDP and TCP.
	DNSPorts []int64
}
