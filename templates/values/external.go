// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// ExternalService feeds external/service-maas: the name by which the HTTPRoute of a
// provider's model refers to the provider.
type ExternalService struct {
	// Meta is the Service's metadata.
	Meta Meta
	// Host is the provider's host.
	Host string
	// Port is the provider's port.
	Port int64
}

// ExternalServiceEntry feeds external/serviceentry-maas: a host outside of the cluster
// with all ports that models of any namespace want of it.
type ExternalServiceEntry struct {
	// Meta is the ServiceEntry's metadata.
	Meta Meta
	// ExportTo is the namespace that sees it: the Gateway's.
	ExportTo string
	// Host is the host.
	Host string
	// Ports are its ports, by number.
	Ports []ExternalPort
}

// ExternalPort is a port of a host outside of the cluster.
type ExternalPort struct {
	// Name is unique among the ports of the host.
	Name string
	// Number is the port.
	Number int64
	// Protocol is HTTPS or HTTP.
	Protocol string
}

// ExternalDestinationRule feeds external/destinationrule-maas: on which ports of a host
// the gateway speaks TLS, and verifies that the certificate is the host's.
type ExternalDestinationRule struct {
	// Meta is the DestinationRule's metadata.
	Meta Meta
	// ExportTo is the namespace that sees it: the Gateway's.
	ExportTo string
	// Host is the host.
	Host string
	// Ports are those with TLS, by number; there is at least one.
	Ports []int64
}

// ExternalRoute feeds external/httproute-maas: what the gateway passes on to a provider.
type ExternalRoute struct {
	// Meta is the HTTPRoute's metadata.
	Meta Meta
	// GatewayName and GatewayNamespace name the Gateway.
	GatewayName string
	// GatewayNamespace is explained at GatewayName.
	GatewayNamespace string
	// Service is the name of the Service that stands for the provider, in the
	// HTTPRoute's namespace, and Port its port.
	Service string
	// Port is explained at Service.
	Port int64
	// Host is what the header Host is set to.
	Host string
	// Remove are headers that the provider must not see.
	Remove []string
	// Timeout bounds a request, as a duration of Gateway API.
	Timeout string
	// Rules are the rules, in their order.
	Rules []ExternalRouteRule
}

// ExternalRouteRule is one way to a provider's model.
type ExternalRouteRule struct {
	// Path is what requested paths begin with.
	Path string
	// Header is what requests must have beside the path, or empty.
	Header []ExternalHeader
	// Rewrite is what takes the place of Path in the request, or empty: it stays.
	Rewrite []string
	// Leads is false while the rule is not guarded: then it has no backends, and the
	// gateway answers 500.
	Leads bool
}

// ExternalHeader is a header of a request with exactly one value.
type ExternalHeader struct {
	// Name is the header's name.
	Name string
	// Value is its value.
	Value string
}
