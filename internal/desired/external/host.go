// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// defaultClusterDomain is what names of Services end in unless a cluster is set up
// otherwise.
const defaultClusterDomain = "cluster.local"

// shortest is how many labels the name of a Service has that a gateway completes; that of
// a Pod behind one has another.
const shortest = 2

// Hosts says which hosts may be led to.
type Hosts struct {
	// ClusterDomain is what names of the cluster's Services end in; empty means
	// cluster.local alone.
	ClusterDomain string
	// IsNamespace tells whether the cluster has a namespace of that name; nil is never. A
	// gateway completes short names: "<service>.<namespace>" is a Service to it.
	IsNamespace func(name string) bool
}

// localDomains are names of which no subdomain leads out of a cluster or a machine.
func localDomains() []string { return []string{"localhost", "local", "svc", "internal"} }

// Normal is a host as it is compared: in lower case, without the dot at the end.
func Normal(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// Refuse says why a host must not be led to, over TLS or without; empty when it may. Whoever may create an
// ExternalModel has the gateway send requests there, from inside of the cluster, and with
// a provider's API key. What the names of others resolve to is not known here: that is
// what verifying certificates is for.
func (h Hosts) Refuse(host string, tls bool) string {
	name := Normal(host)
	labels := strings.Split(name, ".")
	switch {
	case isAddress(name, labels[len(labels)-1]):
		return "is an IP address, in one notation or another"
	case len(validation.IsDNS1123Subdomain(name)) > 0 || longLabel(labels):
		return "is no host name"
	case len(labels) == 1:
		return "has a single label, which is a name inside of the cluster"
	}
	for _, domain := range append(localDomains(), defaultClusterDomain, Normal(h.ClusterDomain)) {
		if domain != "" && (name == domain || strings.HasSuffix(name, "."+domain)) {
			return "ends in " + domain + ", which leads into the cluster or to its nodes"
		}
	}
	return h.inside(labels, tls)
}

// inside says why a host may be a Service, or a Pod behind one; empty when it is not.
func (h Hosts) inside(labels []string, tls bool) string {
	switch last := labels[len(labels)-1]; {
	case len(labels) > shortest+1 || h.IsNamespace == nil || !h.IsNamespace(last):
		return ""
	case len(labels) == shortest || private(last):
		return "ends in the name of a namespace, and may be a Service of it"
	case !tls:
		return "ends in the name of a namespace, and may be a Pod of it, which only TLS would tell"
	default:
		return ""
	}
}

// isAddress holds for what a resolver takes for an IP address: IPv6 in brackets or
// without, and every host whose last label is a number, for these are IPv4 addresses of
// one, two, three or four numbers, each decimal, octal or hexadecimal.
func isAddress(name, last string) bool {
	if strings.ContainsAny(name, ":[]") {
		_, err := netip.ParseAddr(strings.Trim(name, "[]"))
		return err == nil
	}
	digits, hexadecimal := strings.CutPrefix(last, "0x")
	alphabet := "0123456789"
	if hexadecimal {
		alphabet += "abcdef"
	}
	return last != "" && strings.Trim(digits, alphabet) == ""
}

func longLabel(labels []string) bool {
	for _, label := range labels {
		if len(label) > validation.DNS1123LabelMaxLength {
			return true
		}
	}
	return false
}

// private holds for what is no public domain: those have no hyphen, unless they are in
// another script. A name of three labels that ends in it is that of a Pod. With any other
// end it may be one as well, or a public name, whatever namespaces are called.
func private(label string) bool {
	return strings.Contains(label, "-") && !strings.HasPrefix(label, "xn--")
}
