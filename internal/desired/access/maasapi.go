// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
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

// gatewayAudience is the audience of tokens that are made for MaaS alone.
const gatewayAudience = "maas-default-gateway-sa"

// MaaSAPIPolicy is the policy of the HTTPRoute that leads to maas-api. It fails
// with an [apperr.UserError] while the tenant's provider is not usable: its users
// would be refused, and their tokens shown to the cluster.
func MaaSAPIPolicy(in Input) (render.Request, error) {
	if problem := in.Tenant.OIDCProblem; problem != nil {
		return render.Request{}, problem
	}
	guarded, err := guardedPredicate()
	if err != nil {
		return render.Request{}, err
	}
	rules, err := rules(in.Tenant.OIDC)
	if err != nil {
		return render.Request{}, err
	}
	credentials := callerid.Credentials{AcceptKeyHeader: in.AcceptKeyHeader}
	policy := values.MaaSAPIAuthPolicy{
		Meta:        in.meta(in.Tenant.MaaSAPIAuthPolicy(), in.Settings.InfraNamespace, v1alpha1.ComponentAPI),
		Target:      values.RouteTarget{Name: in.Tenant.MaaSAPIRoute()},
		Guarded:     guarded,
		Audiences:   in.audiences(),
		Validate:    callerid.Validate(in.Tenant.MaaSAPIURL(in.Settings.InfraNamespace), in.Settings.MetadataCacheTTL),
		Rules:       rules,
		Identity:    identityProperties(),
		Headers:     callerid.Headers(callerid.RequestedSubscription()),
		Credentials: values.CredentialExpressions{Token: credentials.SendsToken()},
	}
	if in.AcceptKeyHeader {
		policy.KeyHeader = []values.KeyHeader{{When: callerid.HeaderKey()}}
	}
	if oidc := in.Tenant.OIDC; oidc != nil {
		policy.OIDC = []values.OIDCProvider{{IssuerURL: oidc.IssuerURL, TTLSeconds: oidc.TTLSeconds, When: credentials.SendsJWT()}}
	}
	return render.Request{ID: MaaSAPIPolicyTemplate, Namespace: policy.Meta.Namespace, Name: policy.Meta.Name, Values: policy}, nil
}

// guardedPredicate holds for everything but asking whether the service is there.
func guardedPredicate() (string, error) {
	health, err := celtext.String(publicpath.Health)
	if err != nil {
		return "", fmt.Errorf("quote path: %w", err)
	}
	return "request.method != \"GET\" || request.url_path != " + health, nil
}

// audiences are those of the cluster and of MaaS, each once.
func (in Input) audiences() []string {
	audiences := []string{in.Settings.Audience, gatewayAudience}
	return slices.Compact(audiences)
}

// rules are the predicates that must all hold, sorted by name. Beside what holds
// for callers of models they refuse what the service could not take at its word: a
// subscription that a key has not got.
func rules(provider *tenancy.OIDC) ([]values.AuthorizationRule, error) {
	all, err := callerid.Rules(provider)
	if err != nil {
		return nil, err
	}
	all = append(all, values.AuthorizationRule{Name: "key-subscription", Predicates: []string{callerid.KeySubscription()}})
	slices.SortFunc(all, func(a, b values.AuthorizationRule) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// identityProperties become auth.identity.* for telemetry. What a token caller asks
// for is nothing to count by: nobody has looked at it yet.
func identityProperties() []values.NamedExpression {
	properties := append(callerid.Properties(),
		values.NamedExpression{Name: "selected_subscription", Expression: callerid.KeyText("subscription")})
	slices.SortFunc(properties, func(a, b values.NamedExpression) int { return strings.Compare(a.Name, b.Name) })
	return properties
}
