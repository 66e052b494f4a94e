// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/callerid"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Ids of the templates.
const (
	ServiceTemplate         render.ID = "external/service-maas"
	ServiceEntryTemplate    render.ID = "external/serviceentry-maas"
	DestinationRuleTemplate render.ID = "external/destinationrule-maas"
	RouteTemplate           render.ID = "external/httproute-maas"
)

// The CustomResourceDefinitions of the kinds that not every cluster serves.
const (
	RouteCRD           = "httproutes.gateway.networking.k8s.io"
	ServiceEntryCRD    = "serviceentries.networking.istio.io"
	DestinationRuleCRD = "destinationrules.networking.istio.io"
)

// modelHeader is the header that payload processing names a model in.
const modelHeader = "X-Gateway-Model-Name"

// apiPath is what the paths of requests begin with that name a model in the header.
const apiPath = "/v1"

// timeout bounds a request: a model may think for long before it answers.
const timeout = "300s"

// maxLabel is how long the value of a label may be.
const maxLabel = 63

// hostDigest is how many characters of the digest of a host are in a name.
const hostDigest = 8

// Input is everything the objects of one model depend on.
type Input struct {
	// Model is the ExternalModel's key, Target its spec.targetModel.
	Model  types.NamespacedName
	Target string
	// Provider is how its provider is reached.
	Provider Provider
	// Gateway is that of the default tenant.
	Gateway types.NamespacedName
	// Claims are those of all models of the host and of the target, this one included.
	Claims []Claim
	// Leads says which rules of the route may lead to the provider.
	Leads opening.Leads
}

// Output is what should exist. What is nil is not wanted.
type Output struct {
	Service         *values.ExternalService
	ServiceEntry    *values.ExternalServiceEntry
	DestinationRule *values.ExternalDestinationRule
	Route           *values.ExternalRoute
	// Holder is the model that holds what the models of the host share.
	Holder types.NamespacedName
	// Addressee is the model that requests reach which name the target in a header.
	Addressee types.NamespacedName
}

// Name is the name of a model's Service and HTTPRoute. A Service must be a DNS label that
// begins with a letter, which is narrower than the name of an ExternalModel.
func Name(model string) string { return endpoint.ExternalRouteName(model) }

// SharedName is the name of what a model holds of a host. It tells hosts apart: what the
// model held of a former one stands beside until others have their own.
func SharedName(model, host string) string {
	sum := sha256.Sum256([]byte(host))
	return Name(model) + "-" + hex.EncodeToString(sum[:])[:hostDigest]
}

// Path is where a model is found at the Gateway.
func Path(model types.NamespacedName) string { return "/" + model.Namespace + "/" + model.Name }

// Build computes the objects of a model whose host is accepted.
func Build(in Input) Output {
	meta := values.Meta{Name: Name(in.Model.Name), Namespace: in.Model.Namespace, Labels: labels(in.Model.Name)}
	host := in.Provider.Host
	out := Output{Service: &values.ExternalService{Meta: meta, Host: host, Port: int64(in.Provider.Port)}}
	if holder, ok := Holder(host, in.Claims); ok {
		out.Holder = holder.Model
	}
	if out.Holder == in.Model {
		held := meta
		held.Name = SharedName(in.Model.Name, host)
		out.ServiceEntry, out.DestinationRule = shared(held, in.Gateway.Namespace, host, Ports(host, in.Claims))
	}
	if addressee, ok := Addressee(in.Target, in.Claims); ok {
		out.Addressee = addressee.Model
	}
	out.Route = route(in, meta, out.Addressee == in.Model)
	return out
}

// shared are the objects of a host, for a gateway in a namespace; there is a
// DestinationRule only when a port of it speaks TLS.
func shared(meta values.Meta, gateway, host string, ports []Port) (*values.ExternalServiceEntry, *values.ExternalDestinationRule) {
	entry := &values.ExternalServiceEntry{Meta: meta, ExportTo: gateway, Host: host}
	var secure []int64
	for _, port := range ports {
		entry.Ports = append(entry.Ports, portOf(port))
		if port.TLS {
			secure = append(secure, int64(port.Number))
		}
	}
	if len(secure) == 0 {
		return entry, nil
	}
	return entry, &values.ExternalDestinationRule{Meta: meta, ExportTo: gateway, Host: host, Ports: secure}
}

// portOf names a port by its protocol and number: the names of a host's ports differ.
func portOf(port Port) values.ExternalPort {
	scheme, protocol := "http", "HTTP"
	if port.TLS {
		scheme, protocol = "https", "HTTPS"
	}
	return values.ExternalPort{Name: scheme + "-" + strconv.Itoa(int(port.Number)), Number: int64(port.Number), Protocol: protocol}
}

func route(in Input, meta values.Meta, addressed bool) *values.ExternalRoute {
	meta.Annotations = map[string]string{v1alpha1.AnnotationOpenedRoute: string(cmp.Or(in.Leads.Route, opening.NotOpened))}
	rules := []values.ExternalRouteRule{{Path: Path(in.Model), Rewrite: rewrite(in.Provider.PathPrefix)}}
	if addressed {
		rules = append(rules, headerRule(in.Target, in.Provider.PathPrefix))
	}
	for i := range rules {
		rules[i].Leads = in.Leads.To(nameOf(rules[i]))
	}
	return &values.ExternalRoute{
		Meta: meta, GatewayName: in.Gateway.Name, GatewayNamespace: in.Gateway.Namespace,
		Service: meta.Name, Port: int64(in.Provider.Port), Host: in.Provider.Host, Remove: identityHeaders(), Timeout: timeout, Rules: rules,
	}
}

// identityHeaders tell models of the cluster who calls. A provider is somebody else. The
// name of the subscription stays: metrics read it when the reply is over.
func identityHeaders() []string {
	var names []string
	for _, h := range callerid.Headers("") {
		if h.Name != callerid.SubscriptionHeader {
			names = append(names, h.Name)
		}
	}
	return names
}

// headerRule is the way to a model whose name is in a header. A prefix goes before the
// path. It cannot take the place of "/", for Istio then leaves out the slash that follows
// the prefix: so it takes that of what all paths of the API begin with.
func headerRule(target, prefix string) values.ExternalRouteRule {
	rule := values.ExternalRouteRule{Path: "/", Header: []values.ExternalHeader{{Name: modelHeader, Value: target}}}
	if prefix != "" && prefix != "/" {
		rule.Path, rule.Rewrite = apiPath, []string{prefix + apiPath}
	}
	return rule
}

// Addresses tells whether a route has a rule for requests that name a target in a header,
// whatever the prefix is.
func Addresses(route opening.Route, target string) bool {
	return slices.Contains(route.Rules, nameOf(headerRule(target, ""))) || slices.Contains(route.Rules, nameOf(headerRule(target, apiPath)))
}

func rewrite(prefix string) []string {
	if prefix == "" {
		return nil
	}
	return []string{prefix}
}

// nameOf is what [opening.RuleOf] calls a rule once it is in the cluster.
func nameOf(rule values.ExternalRouteRule) string {
	match := gwapiv1.HTTPRouteMatch{Path: &gwapiv1.HTTPPathMatch{Type: new(gwapiv1.PathMatchPathPrefix), Value: &rule.Path}}
	for _, h := range rule.Header {
		match.Headers = append(match.Headers, gwapiv1.HTTPHeaderMatch{Type: new(gwapiv1.HeaderMatchExact), Name: gwapiv1.HTTPHeaderName(h.Name), Value: h.Value})
	}
	return opening.RuleOf(&gwapiv1.HTTPRouteRule{Matches: []gwapiv1.HTTPRouteMatch{match}})
}

func labels(model string) map[string]string {
	return map[string]string{
		v1alpha1.LabelExternalModel: endpoint.Shortened(model, maxLabel),
		v1alpha1.LabelManagedBy:     v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:        v1alpha1.PartOfExternalModel,
		v1alpha1.LabelComponent:     v1alpha1.ComponentExternalModel,
	}
}

// Requests are the renderings of what is wanted, those of the route last.
func (o Output) Requests() []render.Request {
	var requests []render.Request
	add := func(id render.ID, meta values.Meta, v any) {
		requests = append(requests, render.Request{ID: id, Namespace: meta.Namespace, Name: meta.Name, Values: v})
	}
	if o.Service != nil {
		add(ServiceTemplate, o.Service.Meta, *o.Service)
	}
	if o.ServiceEntry != nil {
		add(ServiceEntryTemplate, o.ServiceEntry.Meta, *o.ServiceEntry)
	}
	if o.DestinationRule != nil {
		add(DestinationRuleTemplate, o.DestinationRule.Meta, *o.DestinationRule)
	}
	if o.Route != nil {
		add(RouteTemplate, o.Route.Meta, *o.Route)
	}
	return requests
}
