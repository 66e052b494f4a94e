// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// listener is one with a route.
type listener struct {
	protocol gwapiv1.ProtocolType
	port     gwapiv1.PortNumber
	host     gwapiv1.Hostname
	idle     bool // Without routes.
	unknown  bool // Without a status.
}

func gateway(addresses []string, listeners ...listener) *gwapiv1.Gateway {
	g := &gwapiv1.Gateway{}
	for i, l := range listeners {
		name := gwapiv1.SectionName('a' + rune(i))
		spec := gwapiv1.Listener{Name: name, Protocol: l.protocol, Port: l.port}
		if l.host != "" {
			spec.Hostname = &l.host
		}
		g.Spec.Listeners = append(g.Spec.Listeners, spec)
		if !l.unknown {
			status := gwapiv1.ListenerStatus{Name: name, AttachedRoutes: 1}
			if l.idle {
				status.AttachedRoutes = 0
			}
			g.Status.Listeners = append(g.Status.Listeners, status)
		}
	}
	for _, a := range addresses {
		g.Status.Addresses = append(g.Status.Addresses, gwapiv1.GatewayStatusAddress{Value: a})
	}
	return g
}

func TestTheAddressOfAGatewayForClients(t *testing.T) {
	t.Parallel()
	https := listener{protocol: gwapiv1.HTTPSProtocolType, port: 443, host: "maas.example.com"}
	http := listener{protocol: gwapiv1.HTTPProtocolType, port: 80, host: "plain.example.com"}
	for name, test := range map[string]struct {
		gateway *gwapiv1.Gateway
		want    External // Zero: there is none.
	}{
		"has no port when it is the scheme's own":           {gateway(nil, https), External{"https", "https://maas.example.com", 443}},
		"has any other port":                                {gateway(nil, listener{gwapiv1.HTTPSProtocolType, 8443, "maas.example.com", false, false}), External{"https", "https://maas.example.com:8443", 8443}},
		"may be plain HTTP":                                 {gateway(nil, http), External{"http", "http://plain.example.com", 80}},
		"may be plain HTTP on another port":                 {gateway(nil, listener{gwapiv1.HTTPProtocolType, 8080, "plain.example.com", false, false}), External{"http", "http://plain.example.com:8080", 8080}},
		"is the encrypted one, whatever the order":          {gateway(nil, http, https), External{"https", "https://maas.example.com", 443}},
		"is the plain one while no route is encrypted":      {gateway(nil, listener{gwapiv1.HTTPSProtocolType, 443, "maas.example.com", true, false}, http), External{"http", "http://plain.example.com", 80}},
		"is the first of two encrypted ones":                {gateway(nil, listener{gwapiv1.TLSProtocolType, 443, "tls.example.com", false, false}, https), External{"https", "https://tls.example.com", 443}},
		"is not that of TCP or UDP":                         {gateway(nil, listener{gwapiv1.TCPProtocolType, 443, "tcp.example.com", false, false}, listener{gwapiv1.UDPProtocolType, 443, "udp.example.com", false, false}, http), External{"http", "http://plain.example.com", 80}},
		"takes a missing protocol and port for HTTPS":       {gateway(nil, listener{host: "maas.example.com"}), External{"https", "https://maas.example.com", 443}},
		"is the address without a host name":                {gateway([]string{"192.0.2.1"}, listener{protocol: gwapiv1.HTTPSProtocolType, port: 443}), External{"https", "https://192.0.2.1", 443}},
		"is the address instead of a wildcard":              {gateway([]string{"lb.example.com"}, listener{gwapiv1.HTTPSProtocolType, 443, "*.example.com", false, false}), External{"https", "https://lb.example.com", 443}},
		"has brackets around an IPv6 address":               {gateway([]string{"2001:db8::1"}, listener{protocol: gwapiv1.HTTPSProtocolType, port: 443}), External{"https", "https://[2001:db8::1]", 443}},
		"has brackets around an IPv6 address before a port": {gateway([]string{"2001:db8::1"}, listener{protocol: gwapiv1.HTTPSProtocolType, port: 8443}), External{"https", "https://[2001:db8::1]:8443", 8443}},
		"is none without listeners":                         {gateway([]string{"192.0.2.1"}), External{}},
		"is none without routes":                            {gateway([]string{"192.0.2.1"}, listener{gwapiv1.HTTPSProtocolType, 443, "maas.example.com", true, false}), External{}},
		"is none without a status":                          {gateway([]string{"192.0.2.1"}, listener{gwapiv1.HTTPSProtocolType, 443, "maas.example.com", false, true}), External{}},
		"is none without a host name and an address":        {gateway(nil, listener{protocol: gwapiv1.HTTPSProtocolType, port: 443}), External{}},
		"is none with a wildcard alone":                     {gateway(nil, listener{gwapiv1.HTTPSProtocolType, 443, "*.example.com", false, false}), External{}},
		"is none that only the cluster knows":               {gateway([]string{"maas.ingress.svc.cluster.local"}, listener{protocol: gwapiv1.HTTPSProtocolType, port: 443}), External{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ExternalOf(test.gateway)
			if diff := cmp.Diff(test.want, got); diff != "" || errors.Is(err, ErrNoHost) != (test.want == External{}) {
				t.Errorf("ExternalOf() error = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
