// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Names under which KServe lists the addresses of a model at a gateway. Addresses
// with other names serve other purposes and are left alone.
const (
	// AddressPath is the path URL of the model.
	AddressPath = "gateway-external"
	// AddressBase is the URL shared by models that are told apart by the body.
	AddressBase = "gateway-external-model-routing"
)

// Address is one address in the status of the model's backend.
type Address struct {
	Name, URL string
}

// Input is everything the URLs of a model depend on.
type Input struct {
	// Path is the path that identifies the model, "/<namespace>/<backend>"; empty for
	// a backend that the gateway recognises by the body only.
	Path string
	// Route is the model's route, attached to the Gateway.
	Route *gwapiv1.HTTPRoute
	// GatewayKey names the tenant's Gateway; Gateway is the object, nil if unknown.
	GatewayKey types.NamespacedName
	Gateway    *gwapiv1.Gateway
	// Addresses and URL are the backend's own words.
	Addresses []Address
	URL       string
}

// URLs are the published URLs of a model. Either may be empty.
type URLs struct {
	// Endpoint reaches this model and no other, unless only a shared URL exists.
	Endpoint string
	// Base is shared by all models the gateway tells apart by the body.
	Base string
}

// PathOf is the path under which KServe's routes serve a model.
func PathOf(namespace, backend string) string { return "/" + namespace + "/" + backend }

// Resolve chooses the URLs. For the endpoint the first of these exists that does:
//
//  1. an address the backend lists as its path URL,
//  2. the backend's address without a name, or its status URL, if it has a path,
//  3. the path that the route matches for this model, at the route's host,
//  4. the shared base URL,
//  5. the model's path at the route's host.
//
// A model without a path has one URL for both, the route's host.
//
// Among several the best is, in this order: https, this model's own path, the
// host the route names first, and the smallest text.
func Resolve(in Input) URLs {
	c := in.candidates()
	if in.Path == "" {
		shared := c.derive("", in.Gateway)
		return URLs{Endpoint: shared, Base: shared}
	}
	out := URLs{Base: c.best(in.named(AddressBase))}
	paths := in.named(AddressPath)
	explicit := ""
	if path, ok := matchedPath(in.Route, in.Path); ok {
		explicit = c.derive(path, in.Gateway)
	}
	out.Endpoint = cmp.Or(
		c.best(withPath(paths)),
		c.best(withPath(append(in.named(""), in.URL))),
		explicit,
		c.best(paths),
		out.Base,
		c.derive(in.Path, in.Gateway),
	)
	return out
}

func (in Input) named(name string) []string {
	var urls []string
	for _, a := range in.Addresses {
		if a.Name == name {
			urls = append(urls, a.URL)
		}
	}
	return urls
}

// candidates knows where the route is reachable, and judges URLs by it.
type candidates struct {
	path    string
	origins []origin
	// open admits any host: nothing is known of the gateway's hosts, and the route
	// has no other gateway, so every address of the backend is one of this gateway's.
	open bool
}

func (in Input) candidates() candidates {
	found := origins(in.Route, in.GatewayKey, in.Gateway)
	return candidates{path: in.Path, origins: found, open: len(found) == 0 && len(gatewaysOf(in.Route)) == 1}
}

// best returns the best publishable URL, or "".
func (c candidates) best(texts []string) string {
	type candidate struct {
		text          string
		scheme, place int
		foreign       bool
	}
	var fit []candidate
	for _, text := range texts {
		u, ok := parse(text)
		if !ok {
			continue
		}
		place, ok := c.place(strings.ToLower(u.Hostname()))
		if !ok {
			continue
		}
		fit = append(fit, candidate{
			text:    text,
			scheme:  slices.Index([]string{schemeHTTPS, schemeHTTP}, u.Scheme),
			place:   place,
			foreign: strings.TrimSuffix(u.Path, "/") != c.path,
		})
	}
	if len(fit) == 0 {
		return ""
	}
	return slices.MinFunc(fit, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.scheme, b.scheme),
			compareBools(a.foreign, b.foreign),
			cmp.Compare(a.place, b.place),
			cmp.Compare(a.text, b.text),
		)
	}).text
}

// place tells whether a host is the route's on the gateway, and how early the
// route names it.
func (c candidates) place(host string) (int, bool) {
	if c.open {
		return 0, true
	}
	place, found := 0, false
	for _, o := range c.origins {
		if admits(o.host, host) && (!found || o.rank < place) {
			place, found = o.rank, true
		}
	}
	return place, found
}

// derive builds a URL at the first host that is not a pattern. A gateway with
// patterns only is reachable at an address of its own that falls under one.
func (c candidates) derive(path string, gateway *gwapiv1.Gateway) string {
	for _, o := range c.origins {
		if !o.wildcard() {
			return o.scheme + "://" + o.authority() + path
		}
	}
	if gateway == nil {
		return ""
	}
	for _, o := range c.origins {
		for _, host := range addressHosts(gateway) {
			if admits(o.host, host) {
				o.host = host
				return o.scheme + "://" + o.authority() + path
			}
		}
	}
	return ""
}

// parse accepts what a client can be sent to: http or https, a host that is no
// pattern, no credentials, query or fragment.
func parse(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != schemeHTTPS && u.Scheme != schemeHTTP) {
		return nil, false
	}
	if u.Hostname() == "" || strings.Contains(u.Host, "*") || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, false
	}
	return u, true
}

func withPath(texts []string) []string {
	var out []string
	for _, text := range texts {
		if u, ok := parse(text); ok && strings.Trim(u.Path, "/") != "" {
			out = append(out, text)
		}
	}
	return out
}

// matchedPath is the path under which the route serves the model: the model's own
// path when a match of the route is that path or lies below it, else the
// shallowest prefix that the route matches. A route that matches everything has none.
func matchedPath(route *gwapiv1.HTTPRoute, own string) (string, bool) {
	var prefixes []string
	for _, rule := range route.Spec.Rules {
		for _, match := range rule.Matches {
			if match.Path == nil || match.Path.Value == nil {
				continue
			}
			path := "/" + strings.Trim(*match.Path.Value, "/")
			if path == own || strings.HasPrefix(path, own+"/") {
				return own, true
			}
			if path != "/" && (match.Path.Type == nil || *match.Path.Type == gwapiv1.PathMatchPathPrefix) {
				prefixes = append(prefixes, path)
			}
		}
	}
	if len(prefixes) == 0 {
		return "", false
	}
	return slices.MinFunc(prefixes, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	}), true
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
