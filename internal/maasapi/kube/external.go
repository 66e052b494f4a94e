// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// ErrNoHost says that a Gateway has no host name or address that clients outside
// the cluster could use.
var ErrNoHost = errors.New("the Gateway has no host for clients: give a listener a hostname, or wait for an address in its status")

// Schemes of URLs.
const (
	schemeHTTPS = "https"
	schemeHTTP  = "http"
)

// External is where clients reach a gateway.
type External struct {
	// Protocol is "https" or "http".
	Protocol string
	// URL is the scheme and host, with the port unless it is the scheme's own.
	URL  string
	Port int32
}

// ExternalOf picks the listener that clients should use: the first with routes that
// encrypts, else the first with routes for plain HTTP. Its host name counts, or else
// the first address of the Gateway. A wildcard is no host, and neither is a name that
// only the cluster knows.
func ExternalOf(gateway *gwapiv1.Gateway) (External, error) {
	listener, secure := pick(gateway)
	if listener == nil {
		return External{}, ErrNoHost
	}
	host := hostOf(gateway, listener)
	if host == "" {
		return External{}, ErrNoHost
	}
	port := cmp.Or(listener.Port, portHTTPS)
	e := External{Protocol: schemeHTTP, Port: port}
	own := gwapiv1.PortNumber(portHTTP)
	if secure {
		e.Protocol, own = schemeHTTPS, portHTTPS
	}
	e.URL = e.Protocol + "://" + host
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
		e.URL = e.Protocol + "://[" + host + "]"
	}
	if port != own {
		e.URL = e.Protocol + "://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	return e, nil
}

// pick returns the listener, and whether it encrypts.
func pick(gateway *gwapiv1.Gateway) (*gwapiv1.Listener, bool) {
	var plain *gwapiv1.Listener
	for i := range gateway.Spec.Listeners {
		l := &gateway.Spec.Listeners[i]
		if !attached(gateway, l.Name) {
			continue
		}
		switch l.Protocol {
		case gwapiv1.HTTPSProtocolType, gwapiv1.TLSProtocolType, "":
			return l, true
		case gwapiv1.HTTPProtocolType:
			if plain == nil {
				plain = l
			}
		default: // Not for HTTP.
		}
	}
	return plain, false
}

func attached(gateway *gwapiv1.Gateway, listener gwapiv1.SectionName) bool {
	for i := range gateway.Status.Listeners {
		if gateway.Status.Listeners[i].Name == listener {
			return gateway.Status.Listeners[i].AttachedRoutes > 0
		}
	}
	return false
}

func hostOf(gateway *gwapiv1.Gateway, listener *gwapiv1.Listener) string {
	candidates := make([]string, 0, 2)
	if listener.Hostname != nil {
		candidates = append(candidates, string(*listener.Hostname))
	}
	if len(gateway.Status.Addresses) > 0 {
		candidates = append(candidates, gateway.Status.Addresses[0].Value)
	}
	for _, host := range candidates {
		if host != "" && !strings.HasPrefix(host, "*") {
			if strings.HasSuffix(host, ".svc.cluster.local") {
				return ""
			}
			return host
		}
	}
	return ""
}
