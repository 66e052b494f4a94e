// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
)

const (
	base = endpoint.AddressBase
	path = endpoint.AddressPath
)

func address(name, url string) endpoint.Address { return endpoint.Address{Name: name, URL: url} }

// input is a model llm/granite on a gateway with one https listener for the host.
func input(mutate ...func(*endpoint.Input)) endpoint.Input {
	r := route("r", parents(ours), hosts("maas.example.com"), paths("/llm/granite"))
	in := endpoint.Input{
		Path: endpoint.PathOf("llm", "granite"), Route: &r, GatewayKey: ours,
		Gateway: gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, "")),
	}
	for _, m := range mutate {
		m(&in)
	}
	return in
}

func withAddresses(addresses ...endpoint.Address) func(*endpoint.Input) {
	return func(in *endpoint.Input) { in.Addresses = addresses }
}

func withRoute(opts ...routeOption) func(*endpoint.Input) {
	return func(in *endpoint.Input) {
		r := route("r", opts...)
		in.Route = &r
	}
}

func withGateway(g *gwapiv1.Gateway) func(*endpoint.Input) {
	return func(in *endpoint.Input) { in.Gateway = g }
}

// Rows 9.2.38–9.2.45 and 9.3.51, A43, A44, B33 and W-26.
func TestResolve(t *testing.T) {
	t.Parallel()
	const derived = "https://maas.example.com/llm/granite"
	wildcards := gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, "*.example.com"))
	for name, tc := range map[string]struct {
		in   endpoint.Input
		want endpoint.URLs
	}{
		"the path URL is the endpoint and the shared URL the base": {
			input(withAddresses(address(base, "https://maas.example.com/"), address(path, "https://maas.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://maas.example.com/llm/granite", Base: "https://maas.example.com/"},
		},
		"the same in the other order": {
			input(withAddresses(address(path, "https://maas.example.com/llm/granite"), address(base, "https://maas.example.com/"))),
			endpoint.URLs{Endpoint: "https://maas.example.com/llm/granite", Base: "https://maas.example.com/"},
		},
		"another gateway's address is never taken": {
			input(withAddresses(address(path, "https://other.example.com/llm/granite"), address(path, "https://maas.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: derived},
		},
		"with foreign addresses only the URL is derived": {
			input(withAddresses(address(path, "https://other.example.com/llm/granite"), address(base, "https://other.example.com/"))),
			endpoint.URLs{Endpoint: derived},
		},
		"another gateway's host of the same route is not ours": {
			input(withRoute(parents(ours, other), hosts("a.other.com", "maas.example.com"), paths("/llm/granite")), withGateway(wildcards),
				withAddresses(address(path, "https://a.other.com/llm/granite"))),
			endpoint.URLs{Endpoint: derived},
		},
		"https before http": {
			input(withAddresses(address(path, "http://maas.example.com/llm/granite"), address(path, "https://maas.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://maas.example.com/llm/granite"},
		},
		"http when there is nothing else": {
			input(withAddresses(address(path, "http://maas.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "http://maas.example.com/llm/granite"},
		},
		"letter case of the host does not matter": {
			input(withAddresses(address(path, "https://MAAS.Example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://MAAS.Example.com/llm/granite"},
		},
		"a port is kept": {
			input(withAddresses(address(path, "https://maas.example.com:8443/llm/granite"))),
			endpoint.URLs{Endpoint: "https://maas.example.com:8443/llm/granite"},
		},
		"the model's own path before another of its paths": {
			input(withAddresses(address(path, "https://maas.example.com/aaa"), address(path, "https://maas.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://maas.example.com/llm/granite"},
		},
		"the host the route names first": {
			input(withRoute(parents(ours), hosts("z.example.com", "a.example.com")),
				withAddresses(address(path, "https://a.example.com/llm/granite"), address(path, "https://z.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://z.example.com/llm/granite"},
		},
		"addresses without a name, URL or host are skipped": {
			input(withAddresses(address("", ""), address(path, ""), address(path, "https:///llm/granite"), address(path, "/llm/granite"), address(path, "::"))),
			endpoint.URLs{Endpoint: derived},
		},
		"credentials, queries and other schemes are never published": {
			input(withAddresses(address(path, "https://u:p@maas.example.com/x"), address(path, "https://maas.example.com/x?y=z"), address(path, "ftp://maas.example.com/x"))),
			endpoint.URLs{Endpoint: derived},
		},
		"names we do not know are left alone": {
			input(withAddresses(address("gateway-external-stable", "https://maas.example.com/stable"), address("gateway-internal", "https://maas.example.com/internal"))),
			endpoint.URLs{Endpoint: derived},
		},
		"an address without a name counts by its path": {
			input(withRoute(parents(ours), hosts("maas.example.com")), withAddresses(address("", "https://maas.example.com/elsewhere"))),
			endpoint.URLs{Endpoint: "https://maas.example.com/elsewhere"},
		},
		"the status URL counts by its path": {
			input(withRoute(parents(ours), hosts("maas.example.com")), func(in *endpoint.Input) { in.URL = "https://maas.example.com/elsewhere" }),
			endpoint.URLs{Endpoint: "https://maas.example.com/elsewhere"},
		},
		"only the shared URL: it is both": {
			input(withRoute(parents(ours), hosts("maas.example.com")), withAddresses(address(base, "https://maas.example.com/"))),
			endpoint.URLs{Endpoint: "https://maas.example.com/", Base: "https://maas.example.com/"},
		},
		"only the shared URL, but the route has a path for the model": {
			input(withAddresses(address(base, "https://maas.example.com/"))),
			endpoint.URLs{Endpoint: derived, Base: "https://maas.example.com/"},
		},
		"without addresses the URL has namespace and name": {
			input(withRoute(parents(ours), hosts("maas.example.com"))), endpoint.URLs{Endpoint: derived},
		},
		"a deeper match still means the model's own path": {
			input(withRoute(parents(ours), hosts("maas.example.com"), paths("/llm/granite/v1/completions"))), endpoint.URLs{Endpoint: derived},
		},
		"a path the user chose": {
			input(withRoute(parents(ours), hosts("maas.example.com"), paths("/models/g/v1", "/models/g"))), endpoint.URLs{Endpoint: "https://maas.example.com/models/g"},
		},
		"a wildcard host of the route is never published": {
			input(withRoute(parents(ours), hosts("*.example.com", "maas.example.com"))), endpoint.URLs{Endpoint: derived},
		},
		"a wildcard admits an address under it": {
			input(withRoute(parents(ours), hosts("*.example.com")), withAddresses(address(path, "https://inference.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://inference.example.com/llm/granite"},
		},
		"a wildcard does not admit its own domain": {
			input(withRoute(parents(ours), hosts("*.example.com")), withAddresses(address(path, "https://example.com/llm/granite"))),
			endpoint.URLs{},
		},
		"a wildcard address is never published": {
			input(withRoute(parents(ours), hosts("*.example.com")), withAddresses(address(path, "https://*.example.com/llm/granite"), address(base, "https://*.example.com/"))),
			endpoint.URLs{},
		},
		"a wildcard only, and a gateway address under it": {
			input(withRoute(parents(ours), hosts("*.example.com")), withGateway(at(gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, "")), "lb.other.com", "lb.example.com"))),
			endpoint.URLs{Endpoint: "https://lb.example.com/llm/granite"},
		},
		"the narrower of route and listener counts": {
			input(withRoute(parents(ours), hosts("*.com")), withGateway(gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, "maas.example.com")))),
			endpoint.URLs{Endpoint: derived},
		},
		"without host names the listener's is used": {
			input(withRoute(parents(ours)), withGateway(gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, "maas.example.com")))),
			endpoint.URLs{Endpoint: derived},
		},
		"without any host name the gateway's address": {
			input(withRoute(parents(ours)), withGateway(at(gateway(listener("http", gwapiv1.HTTPProtocolType, 8080, "")), "10.1.2.3", "lb.example.com"))),
			endpoint.URLs{Endpoint: "http://lb.example.com:8080/llm/granite"},
		},
		"an IPv6 address": {
			input(withRoute(parents(ours)), withGateway(at(gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, "")), "::1"))),
			endpoint.URLs{Endpoint: "https://[::1]/llm/granite"},
		},
		"the scheme is the listener's": {
			input(withGateway(gateway(listener("http", gwapiv1.HTTPProtocolType, 80, "")))),
			endpoint.URLs{Endpoint: "http://maas.example.com/llm/granite"},
		},
		"the https listener before the http one": {
			input(withGateway(gateway(listener("http", gwapiv1.HTTPProtocolType, 80, ""), listener("https", gwapiv1.HTTPSProtocolType, 8443, "")))),
			endpoint.URLs{Endpoint: "https://maas.example.com:8443/llm/granite"},
		},
		"only the listener the route chose": {
			input(withRoute(parent(gwapiv1.ParentReference{
				Namespace: new(gwapiv1.Namespace(ours.Namespace)), Name: gwapiv1.ObjectName(ours.Name), SectionName: new(gwapiv1.SectionName("http")),
			}), hosts("maas.example.com")), withGateway(gateway(listener("https", gwapiv1.HTTPSProtocolType, 443, ""), listener("http", gwapiv1.HTTPProtocolType, 80, "")))),
			endpoint.URLs{Endpoint: "http://maas.example.com/llm/granite"},
		},
		"listeners that are not for HTTP do not count": {
			input(withGateway(gateway(listener("tcp", gwapiv1.TCPProtocolType, 9000, ""), listener("https", gwapiv1.HTTPSProtocolType, 443, "")))),
			endpoint.URLs{Endpoint: derived},
		},
		"an unknown gateway: the route's host over https": {
			input(withGateway(nil)), endpoint.URLs{Endpoint: derived},
		},
		"nothing is known of hosts and the gateway is the only one: its named address": {
			input(withRoute(parents(ours)), withAddresses(address(path, "https://b.example.com/llm/granite"), address(path, "https://a.example.com/llm/granite"))),
			endpoint.URLs{Endpoint: "https://a.example.com/llm/granite"},
		},
		"nothing is known of hosts and there are two gateways: nothing": {
			input(withRoute(parents(ours, other)), withAddresses(address(path, "https://a.example.com/llm/granite"))), endpoint.URLs{},
		},
		"nothing is known at all": {input(withRoute(parents(ours))), endpoint.URLs{}},
		"a model recognised by the body only has the bare host": {
			input(func(in *endpoint.Input) { in.Path = "" }), endpoint.URLs{Endpoint: "https://maas.example.com", Base: "https://maas.example.com"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, endpoint.Resolve(tc.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestResolveIgnoresOrder holds the two promises that matter whatever the cluster
// looks like: the order of lists is irrelevant, and what is published is a real host
// of the route at our gateway.
func TestResolveIgnoresOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		host := rapid.SampledFrom([]string{"maas.example.com", "b.example.com", "*.example.com", "a.other.com", "lb.cloud.com", "10.0.0.1"})
		in := randomInput(rt, host)

		want := endpoint.Resolve(in)

		shuffled := in
		shuffled.Addresses = rapid.Permutation(in.Addresses).Draw(rt, "addresses")
		r := in.Route.DeepCopy()
		r.Spec.ParentRefs = rapid.Permutation(r.Spec.ParentRefs).Draw(rt, "parents")
		r.Spec.Rules = rapid.Permutation(r.Spec.Rules).Draw(rt, "rules")
		shuffled.Route = r
		g := in.Gateway.DeepCopy()
		g.Spec.Listeners = rapid.Permutation(g.Spec.Listeners).Draw(rt, "listeners")
		g.Status.Addresses = rapid.Permutation(g.Status.Addresses).Draw(rt, "gateway addresses")
		shuffled.Gateway = g
		if diff := cmp.Diff(want, endpoint.Resolve(shuffled)); diff != "" {
			rt.Fatalf("another order, another result (-want +got):\n%s", diff)
		}
		for _, published := range []string{want.Endpoint, want.Base} {
			requireSafe(rt, in, published)
		}
	})
}

func randomInput(rt *rapid.T, host *rapid.Generator[string]) endpoint.Input {
	addresses := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) endpoint.Address {
		return address(
			rapid.SampledFrom([]string{path, base, "", "gateway-internal"}).Draw(rt, "name"),
			rapid.SampledFrom([]string{"https", "http"}).Draw(rt, "scheme")+"://"+host.Draw(rt, "host")+
				rapid.SampledFrom([]string{"", "/", "/llm/granite", "/x"}).Draw(rt, "path"))
	}), 0, 6).Draw(rt, "addresses")
	var listeners []gwapiv1.Listener
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).Draw(rt, "listeners") {
		listeners = append(listeners, listener(name,
			rapid.SampledFrom([]gwapiv1.ProtocolType{gwapiv1.HTTPSProtocolType, gwapiv1.HTTPProtocolType}).Draw(rt, "protocol"),
			rapid.SampledFrom([]int32{80, 443, 8443}).Draw(rt, "port"),
			gwapiv1.Hostname(rapid.SampledFrom([]string{"", "*.example.com", "maas.example.com"}).Draw(rt, "listener host"))))
	}
	opts := []routeOption{parents(ours), paths(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "/llm/granite", "/y", "/x"}), 0, 3).Draw(rt, "paths")...)}
	if rapid.Bool().Draw(rt, "two gateways") {
		opts = append(opts, parents(other))
	}
	var names []gwapiv1.Hostname
	for _, h := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"maas.example.com", "*.example.com", "b.example.com"}), 0, 3, rapid.ID).Draw(rt, "route hosts") {
		names = append(names, gwapiv1.Hostname(h))
	}
	return input(withRoute(append(opts, hosts(names...))...), withAddresses(addresses...),
		withGateway(at(gateway(listeners...), rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"lb.cloud.com", "10.0.0.1"}), 0, 2, rapid.ID).Draw(rt, "gateway at")...)))
}

// requireSafe checks a published URL without the code under test: its host is one
// the route or, for a route without host names, the gateway has.
func requireSafe(rt *rapid.T, in endpoint.Input, published string) {
	if published == "" {
		return
	}
	u, err := url.Parse(published)
	if err != nil || strings.Contains(published, "*") {
		rt.Fatalf("published %q", published)
	}
	var own []string
	for _, h := range in.Route.Spec.Hostnames {
		own = append(own, string(h))
	}
	if len(own) == 0 {
		for _, l := range in.Gateway.Spec.Listeners {
			if l.Hostname != nil {
				own = append(own, string(*l.Hostname))
			}
		}
		for _, a := range in.Gateway.Status.Addresses {
			own = append(own, a.Value)
		}
	}
	fits := slices.ContainsFunc(own, func(h string) bool {
		return h == u.Hostname() || (strings.HasPrefix(h, "*.") && strings.HasSuffix(u.Hostname(), h[1:]))
	})
	gateways := map[gwapiv1.ObjectName]bool{}
	for _, parent := range in.Route.Spec.ParentRefs {
		gateways[parent.Name] = true
	}
	only := len(own) == 0 && len(gateways) == 1
	if !fits && !only {
		rt.Fatalf("published %q, but the hosts are %v at %v", published, own, ours)
	}
}
