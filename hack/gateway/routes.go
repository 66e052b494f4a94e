// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The part of HTTPRoute that the stand-in understands. An unknown filter or a
// regular expression is an error of the rule, as Gateway API wants it, not
// something to pass over.
type (
	httpRoute struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			ParentRefs []parentRef `json:"parentRefs"`
			Hostnames  []string    `json:"hostnames"`
			Rules      []routeRule `json:"rules"`
		} `json:"spec"`
	}
	meta struct {
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Created   time.Time         `json:"creationTimestamp"`
		Labels    map[string]string `json:"labels"`
		Owners    []ownerRef        `json:"ownerReferences"`
	}
	ownerRef struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Name       string `json:"name"`
		Controller bool   `json:"controller"`
	}
	parentRef struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	routeRule struct {
		Matches     []routeMatch  `json:"matches"`
		Filters     []routeFilter `json:"filters"`
		BackendRefs []backendRef  `json:"backendRefs"`
	}
	routeMatch struct {
		Path        *pathMatch  `json:"path"`
		Method      string      `json:"method"`
		Headers     []nameValue `json:"headers"`
		QueryParams []nameValue `json:"queryParams"`
	}
	pathMatch struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	nameValue struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	routeFilter struct {
		Type       string `json:"type"`
		URLRewrite *struct {
			Hostname string `json:"hostname"`
			Path     *struct {
				Type               string `json:"type"`
				ReplaceFullPath    string `json:"replaceFullPath"`
				ReplacePrefixMatch string `json:"replacePrefixMatch"`
			} `json:"path"`
		} `json:"urlRewrite"`
		RequestHeaderModifier *struct {
			Set    []nameValue `json:"set"`
			Add    []nameValue `json:"add"`
			Remove []string    `json:"remove"`
		} `json:"requestHeaderModifier"`
	}
	backendRef struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Port      int    `json:"port"`
		Weight    *int   `json:"weight"`
	}
)

// The kinds of path matches and filters.
const (
	pathExact      = "Exact"
	pathPrefix     = "PathPrefix"
	typeExact      = "Exact"
	filterRewrite  = "URLRewrite"
	filterHeaders  = "RequestHeaderModifier"
	rewritePrefix  = "ReplacePrefixMatch"
	rewriteFull    = "ReplaceFullPath"
	anyPath        = "/"
	kindGateway    = "Gateway"
	wildcardPrefix = "*."
)

// target is one match of one rule: what requests are compared with.
type target struct {
	route *httpRoute
	rule  *routeRule
	match routeMatch
	host  string // Empty: any.
	order int    // The place of the rule and match in the route.
	// model is <namespace>/<name> of the model whose AuthPolicy guards the route, api
	// tells that the route leads to maas-api, keyHeader that X-Api-Key is accepted.
	model          string
	api, keyHeader bool
}

// routing is the present table of a Gateway; it is replaced as a whole.
type routing struct {
	// gateway is <namespace>/<name>, apiName the name of routes to maas-api.
	gateway, apiName string
	targets          atomic.Pointer[[]target]
}

// find returns the target of a request, by the precedence of Gateway API.
func (t *routing) find(r *http.Request, host, path string) *target {
	all := t.targets.Load()
	if all == nil {
		return nil
	}
	for i := range *all {
		if candidate := &(*all)[i]; candidate.matches(r, host, path) {
			return candidate
		}
	}
	return nil
}

// compile makes the targets of the routes below a Gateway, the most specific
// first.
func compile(routes []httpRoute, gateway, apiName string, guards map[string]guard) []target {
	var out []target
	for i := range routes {
		route := &routes[i]
		if !route.below(gateway) {
			continue
		}
		hosts := route.Spec.Hostnames
		if len(hosts) == 0 {
			hosts = []string{""}
		}
		g := guards[route.Metadata.Namespace+"/"+route.Metadata.Name]
		order := 0
		for r := range route.Spec.Rules {
			rule := &route.Spec.Rules[r]
			matches := rule.Matches
			if len(matches) == 0 {
				matches = []routeMatch{{}}
			}
			for _, match := range matches {
				if match.Path == nil {
					match.Path = &pathMatch{Type: pathPrefix, Value: anyPath}
				}
				order++
				for _, host := range hosts {
					out = append(out, target{
						route: route, rule: rule, match: match, host: strings.ToLower(host), order: order,
						model: g.model, keyHeader: g.keyHeader, api: route.Metadata.Name == apiName,
					})
				}
			}
		}
	}
	slices.SortStableFunc(out, precedence)
	return out
}

func (r *httpRoute) below(gateway string) bool {
	return slices.ContainsFunc(r.Spec.ParentRefs, func(p parentRef) bool {
		return cmp.Or(p.Kind, kindGateway) == kindGateway && cmp.Or(p.Namespace, r.Metadata.Namespace)+"/"+p.Name == gateway
	})
}

// owner is the object of a kind that the route was made for; nil for none.
func (r *httpRoute) owner(kind string) *ownerRef {
	for i, o := range r.Metadata.Owners {
		if o.Controller && o.Kind == kind {
			return &r.Metadata.Owners[i]
		}
	}
	return nil
}

// precedence orders targets: the more specific host, an exact path before a
// prefix, the longer path, a method, more headers, more parameters, the older
// route, its name, and the first rule.
func precedence(a, b target) int {
	wild := func(t target) bool { return strings.HasPrefix(t.host, wildcardPrefix) }
	return cmp.Or(
		falseFirst(a.host == "", b.host == ""), falseFirst(wild(a), wild(b)), cmp.Compare(len(b.host), len(a.host)),
		falseFirst(a.match.Path.Type != pathExact, b.match.Path.Type != pathExact),
		cmp.Compare(len(b.match.Path.Value), len(a.match.Path.Value)),
		falseFirst(a.match.Method == "", b.match.Method == ""),
		cmp.Compare(len(b.match.Headers), len(a.match.Headers)), cmp.Compare(len(b.match.QueryParams), len(a.match.QueryParams)),
		a.route.Metadata.Created.Compare(b.route.Metadata.Created),
		cmp.Compare(a.route.Metadata.Namespace+"/"+a.route.Metadata.Name, b.route.Metadata.Namespace+"/"+b.route.Metadata.Name),
		cmp.Compare(a.order, b.order),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func (t *target) matches(r *http.Request, host, path string) bool {
	if !t.serves(host) {
		return false
	}
	switch t.match.Path.Type {
	case pathExact:
		if path != t.match.Path.Value {
			return false
		}
	case pathPrefix, "":
		if _, ok := below(path, t.match.Path.Value); !ok {
			return false
		}
	default:
		return false
	}
	if t.match.Method != "" && t.match.Method != r.Method {
		return false
	}
	query := r.URL.Query()
	return all(t.match.Headers, r.Header.Get) && all(t.match.QueryParams, query.Get)
}

// serves tells whether the target is for a host.
func (t *target) serves(host string) bool {
	if strings.HasPrefix(t.host, wildcardPrefix) {
		return strings.HasSuffix(host, t.host[1:])
	}
	return t.host == "" || t.host == host
}

// all tells whether every value is there exactly; other ways to compare never are.
func all(wanted []nameValue, get func(string) string) bool {
	return !slices.ContainsFunc(wanted, func(w nameValue) bool {
		return cmp.Or(w.Type, typeExact) != typeExact || get(w.Name) != w.Value
	})
}

// below tells whether a path is a prefix, or below it by whole segments, and
// returns what follows.
func below(path, prefix string) (rest string, ok bool) {
	prefix = strings.TrimSuffix(prefix, "/")
	rest, ok = strings.CutPrefix(path, prefix)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// rewrite applies the filters of the rule. The path is escaped.
func (t *target) rewrite(path, host string, header http.Header) (newPath, newHost string, err error) {
	for _, f := range t.rule.Filters {
		switch {
		case f.Type == filterHeaders && f.RequestHeaderModifier != nil:
			host = modify(header, f, host)
		case f.Type == filterRewrite && f.URLRewrite != nil:
			host = cmp.Or(f.URLRewrite.Hostname, host)
			if p := f.URLRewrite.Path; p != nil && p.Type == rewriteFull {
				path = p.ReplaceFullPath
			} else if p != nil && p.Type == rewritePrefix {
				path = replacePrefix(path, t.match.Path.Value, p.ReplacePrefixMatch)
			}
		default:
			return "", "", fmt.Errorf("HTTPRoute %s/%s has a filter %q that the stand-in does not know", t.route.Metadata.Namespace, t.route.Metadata.Name, f.Type)
		}
	}
	return path, host, nil
}

// replacePrefix does as Istio does, which leaves out the slash at the end of the
// replacement: what follows the prefix "/" has none of its own.
// Source: istio/istio issues 54920 and 60182.
func replacePrefix(path, prefix, by string) string {
	by = strings.TrimSuffix(by, "/")
	if prefix == anyPath && by != "" {
		return by + strings.TrimPrefix(path, anyPath)
	}
	rest, _ := below(path, prefix)
	return cmp.Or(by+rest, anyPath)
}

// modify changes headers, and returns the host: Istio takes the header Host for that.
func modify(header http.Header, f routeFilter, host string) string {
	for _, set := range f.RequestHeaderModifier.Set {
		if strings.EqualFold(set.Name, "Host") {
			host = set.Value
			continue
		}
		header.Set(set.Name, set.Value)
	}
	for _, add := range f.RequestHeaderModifier.Add {
		header.Add(add.Name, add.Value)
	}
	for _, name := range f.RequestHeaderModifier.Remove {
		header.Del(name)
	}
	return host
}

// backend is the first one of the rule that takes requests, as
// <namespace>/<name>:<port>.
func (t *target) backend() string {
	for _, b := range t.rule.BackendRefs {
		if b.Weight == nil || *b.Weight > 0 {
			return fmt.Sprintf("%s/%s:%d", cmp.Or(b.Namespace, t.route.Metadata.Namespace), b.Name, b.Port)
		}
	}
	return ""
}
