// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const (
	schemeHTTPS = "https"
	schemeHTTP  = "http"

	wildcardPrefix = "*."
)

// origin is where a route can be reached on its Gateway: a listener's scheme and
// port with a host both of them serve. The host may be a wildcard pattern, which
// admits addresses but is never published itself.
type origin struct {
	scheme string
	port   int32
	host   string
	// rank keeps the order in which the route names its hosts.
	rank int
}

func (o origin) wildcard() bool { return strings.HasPrefix(o.host, wildcardPrefix) }

// authority is the host with the port, left out where the scheme implies it.
func (o origin) authority() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // An IPv6 address.
	}
	if o.port == 0 || (o.scheme == schemeHTTPS && o.port == 443) || (o.scheme == schemeHTTP && o.port == 80) {
		return host
	}
	return host + ":" + strconv.Itoa(int(o.port))
}

// origins lists where the route can be reached on the gateway, best first: https
// before http, then in the order of the route's host names. The Gateway object
// may be nil when it is not known; https is then assumed.
func origins(route *gwapiv1.HTTPRoute, key types.NamespacedName, gateway *gwapiv1.Gateway) []origin {
	names := hostnames(route)
	var all []origin
	for _, l := range attachedListeners(route, key, gateway) {
		for rank, host := range listenerHosts(l, names, gateway) {
			all = append(all, origin{scheme: listenerScheme(l), port: l.Port, host: host, rank: rank})
		}
	}
	if len(all) == 0 {
		// The gateway is unknown, or what is known of its listeners contradicts the
		// route it serves: believe the route.
		for rank, host := range names {
			all = append(all, origin{scheme: schemeHTTPS, host: host, rank: rank})
		}
	}
	slices.SortFunc(all, compareOrigins)
	return slices.CompactFunc(all, func(a, b origin) bool { return compareOrigins(a, b) == 0 })
}

func compareOrigins(a, b origin) int {
	return cmp.Or(
		-cmp.Compare(a.scheme, b.scheme), // https before http
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.host, b.host),
		cmp.Compare(a.port, b.port),
	)
}

// hostnames are the route's host names in lower case, in its order.
func hostnames(route *gwapiv1.HTTPRoute) []string {
	names := make([]string, 0, len(route.Spec.Hostnames))
	for _, h := range route.Spec.Hostnames {
		if h != "" {
			names = append(names, strings.ToLower(string(h)))
		}
	}
	return names
}

// attachedListeners are the listeners for HTTP that the route's parent references
// select.
func attachedListeners(route *gwapiv1.HTTPRoute, key types.NamespacedName, gateway *gwapiv1.Gateway) []gwapiv1.Listener {
	if gateway == nil {
		return nil
	}
	var attached []gwapiv1.Listener
	for _, l := range gateway.Spec.Listeners {
		if listenerScheme(l) == "" {
			continue
		}
		for _, parent := range gatewayParents(route) {
			if parentKey(route, parent) == key && selects(parent, l) {
				attached = append(attached, l)
				break
			}
		}
	}
	return attached
}

func selects(p gwapiv1.ParentReference, l gwapiv1.Listener) bool {
	return (p.SectionName == nil || *p.SectionName == "" || *p.SectionName == l.Name) && (p.Port == nil || *p.Port == l.Port)
}

func listenerScheme(l gwapiv1.Listener) string {
	switch l.Protocol {
	case gwapiv1.HTTPSProtocolType:
		return schemeHTTPS
	case gwapiv1.HTTPProtocolType:
		return schemeHTTP
	default:
		return ""
	}
}

// listenerHosts are the hosts under which a listener serves a route with the given
// host names, in their order.
func listenerHosts(l gwapiv1.Listener, names []string, gateway *gwapiv1.Gateway) []string {
	own := ""
	if l.Hostname != nil {
		own = strings.ToLower(string(*l.Hostname))
	}
	switch {
	case own == "" && len(names) == 0:
		return addressHosts(gateway)
	case own == "":
		return names
	case len(names) == 0:
		return []string{own}
	}
	var shared []string
	for _, name := range names {
		if host := intersect(own, name); host != "" {
			shared = append(shared, host)
		}
	}
	return shared
}

// addressHosts are the Gateway's own addresses: names first, then IP addresses.
func addressHosts(gateway *gwapiv1.Gateway) []string {
	var names, ips []string
	for _, a := range gateway.Status.Addresses {
		switch {
		case a.Value == "":
		case a.Type == nil || *a.Type == gwapiv1.IPAddressType:
			ips = append(ips, a.Value)
		case *a.Type == gwapiv1.HostnameAddressType:
			names = append(names, strings.ToLower(a.Value))
		}
	}
	slices.Sort(names)
	slices.Sort(ips)
	return append(names, ips...)
}

// intersect returns the narrower of two host names when one admits the other.
func intersect(a, b string) string {
	switch {
	case admits(a, b):
		return b
	case admits(b, a):
		return a
	default:
		return ""
	}
}

// admits tells whether a host, or a narrower pattern, falls under a pattern. As in
// Gateway API "*.example.com" stands for any number of labels, at least one.
func admits(pattern, host string) bool {
	if pattern == host {
		return true
	}
	suffix, ok := strings.CutPrefix(pattern, "*")
	return ok && strings.HasSuffix(strings.TrimPrefix(host, "*"), suffix) && len(host) > len(suffix)
}
