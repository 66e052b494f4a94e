// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/desired/callerid"
	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Settings are what the manager was started with.
type Settings struct {
	// InfraNamespace is where maas-api runs.
	InfraNamespace string
	// Audience is the token audience of the cluster.
	Audience string
	// MetadataCacheTTL and AuthorizationCacheTTL are in seconds.
	MetadataCacheTTL, AuthorizationCacheTTL int64
}

// Input is everything the policies of one tenant depend on.
type Input struct {
	// Tenant is the tenant, with its Gateway.
	Tenant tenancy.Context
	// AcceptKeyHeader allows API keys in x-api-key.
	AcceptKeyHeader bool
	// Settings are the manager's.
	Settings Settings
	// Labels are those of the tenant's objects, without the component.
	Labels map[string]string
}

// Ids of the templates.
const (
	GatewayAuthTemplate   render.ID = "gateway/authpolicy-gateway-default-auth"
	GatewayDenyTemplate   render.ID = "gateway/tokenratelimitpolicy-gateway-default-deny"
	MaaSAPIPolicyTemplate render.ID = "tenant/authpolicy-maas-api-auth-policy"
)

// Guard are the policies of the Gateway itself, in its namespace. They refuse every
// request that no other policy is in charge of.
func Guard(in Input) ([]render.Request, error) {
	inference, err := inferencePredicate()
	if err != nil {
		return nil, err
	}
	nobody, err := nobodyPredicate()
	if err != nil {
		return nil, err
	}
	gateway := in.Tenant.Gateway
	target := values.GatewayTarget{Name: gateway.Name}
	deny := values.GatewayTokenRateLimitPolicy{
		Meta:      in.meta(in.Tenant.GatewayDefaultDeny(), gateway.Namespace, v1alpha1.ComponentDefaultPolicy),
		Target:    target,
		Inference: inference,
		Nobody:    nobody,
	}
	auth := values.GatewayAuthPolicy{
		Meta:   in.meta(in.Tenant.GatewayDefaultAuth(), gateway.Namespace, v1alpha1.ComponentDefaultPolicy),
		Target: target,
	}
	return []render.Request{
		{ID: GatewayAuthTemplate, Namespace: auth.Meta.Namespace, Name: auth.Meta.Name, Values: auth},
		{ID: GatewayDenyTemplate, Namespace: deny.Meta.Namespace, Name: deny.Meta.Name, Values: deny},
	}, nil
}

// nobodyPredicate holds for requests of nobody, but for asking whether maas-api is
// there. It is in the same limit as inferencePredicate because it speaks of auth: a
// limit that does not is judged by Kuadrant before the caller is known, so that nobody
// would be asked for a credential, and who has one would not learn why it is not enough.
func nobodyPredicate() (string, error) {
	health, err := celtext.List(publicpath.HealthPaths())
	if err != nil {
		return "", fmt.Errorf("quote paths: %w", err)
	}
	asked := "request.method == \"GET\" && request.url_path in " + health
	return "(" + celtext.Not(asked) + " && (" + callerid.Nobody + "))", nil
}

// inferencePredicate holds for requests that are not for maas-api itself. It looks
// at the path without the query: in request.path a query could pass for a path, or
// keep a path from being known. A path stands for what is below it, not for others
// that begin with the same letters.
func inferencePredicate() (string, error) {
	var same, below []string
	for _, p := range publicpath.Management() {
		same = append(same, p.Path)
		if p.Exact {
			continue
		}
		prefix, err := celtext.String(p.Path + "/")
		if err != nil {
			return "", fmt.Errorf("quote path: %w", err)
		}
		below = append(below, "!request.url_path.startsWith("+prefix+")")
	}
	list, err := celtext.List(same)
	if err != nil {
		return "", fmt.Errorf("quote paths: %w", err)
	}
	return strings.Join(slices.Insert(below, 0, celtext.Not("request.url_path in "+list)), " && "), nil
}

// meta is the metadata of a policy.
func (in Input) meta(name, namespace, component string) values.Meta {
	labels := make(map[string]string, len(in.Labels)+1)
	maps.Copy(labels, in.Labels)
	labels[v1alpha1.LabelComponent] = component
	return values.Meta{Name: name, Namespace: namespace, Labels: labels}
}
