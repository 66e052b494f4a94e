// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

func meta() values.Meta {
	return values.Meta{
		Name: "policy", Namespace: "gateways",
		Labels: map[string]string{"label": "value"}, Annotations: map[string]string{"annotation": "text"},
	}
}

func authRequest() render.Request {
	return render.Request{ID: access.GatewayAuthTemplate, Namespace: "gateways", Name: "policy", Values: values.GatewayAuthPolicy{
		Meta: meta(), Target: values.GatewayTarget{Name: "gateway"},
	}}
}

func denyRequest() render.Request {
	return render.Request{ID: access.GatewayDenyTemplate, Namespace: "gateways", Name: "policy", Values: values.GatewayTokenRateLimitPolicy{
		Meta: meta(), Target: values.GatewayTarget{Name: "gateway"}, Inference: "true", Nobody: "false",
	}}
}

// serviceRequest holds one of everything the template takes.
func serviceRequest() render.Request {
	named := values.NamedExpression{Name: "name", Expression: "expression"}
	return render.Request{ID: access.MaaSAPIPolicyTemplate, Namespace: "gateways", Name: "policy", Values: values.MaaSAPIAuthPolicy{
		Meta: meta(), Target: values.RouteTarget{Name: "route"}, Guarded: "true", Audiences: []string{"audience"},
		KeyHeader: []values.KeyHeader{{When: "true"}},
		OIDC:      []values.OIDCProvider{{IssuerURL: "https://idp.example.com", TTLSeconds: 300, When: "true"}},
		Validate:  values.Callback{URL: "https://maas-api", When: "true", Body: "{}", CacheKey: "key", CacheTTLSeconds: 60},
		Rules:     []values.AuthorizationRule{{Name: "rule", Predicates: []string{"true"}}},
		Identity:  []values.NamedExpression{named}, Headers: []values.NamedExpression{named},
		Credentials: values.CredentialExpressions{Token: "true"},
	}}
}

// identityFields must be what was asked for, and keys are constants of ours.
var (
	identityFields = rendertest.Refused("Meta.Name", "Meta.Namespace", "Meta.Labels{}")
	keys           = rendertest.Refused("Rules[].Name", "Identity[].Name", "Headers[].Name")
)

func TestNoTextChangesAPolicy(t *testing.T) {
	t.Parallel()
	for _, request := range []render.Request{authRequest(), denyRequest()} {
		rendertest.Hostile(t, parts.Engine(t), request, identityFields)
	}
	rendertest.Hostile(t, parts.Engine(t), serviceRequest(), identityFields, keys)
}

func FuzzGatewayAuthTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), authRequest(), identityFields)
}

func FuzzGatewayDenyTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), denyRequest(), identityFields)
}

func FuzzMaaSAPIPolicyTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), serviceRequest(), identityFields, keys)
}

// TestTheClientIsNothingButText writes any client into the policy: nothing differs but
// the rule about it, and that is one expression of the same form.
func TestTheClientIsNothingButText(t *testing.T) {
	t.Parallel()
	in := access.Input{
		Tenant: tenancy.Context{
			Name: "red", ID: "red", Gateway: types.NamespacedName{Namespace: "gateways", Name: "red"},
			OIDC: &tenancy.OIDC{IssuerURL: "https://idp.example.com", ClientID: "maas", TTLSeconds: 300},
		},
		Settings: access.Settings{InfraNamespace: "infra", Audience: "audience"},
	}
	of := func(client string) (values.MaaSAPIAuthPolicy, error) {
		named := in
		named.Tenant.OIDC = &tenancy.OIDC{IssuerURL: in.Tenant.OIDC.IssuerURL, ClientID: client, TTLSeconds: in.Tenant.OIDC.TTLSeconds}
		request, err := access.MaaSAPIPolicy(named)
		policy, _ := request.Values.(values.MaaSAPIAuthPolicy)
		policy.Rules = slices.DeleteFunc(policy.Rules, func(r values.AuthorizationRule) bool { return r.Name == "oidc-client-bound" })
		return policy, err
	}
	benign, err := of("maas")
	if err != nil {
		t.Fatalf("MaaSAPIPolicy() error = %v", err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		hostile, err := of(rendertest.Text().Draw(rt, "client"))
		if err != nil {
			return // Text that has no CEL literal is refused as a whole.
		}
		if diff := cmp.Diff(benign, hostile); diff != "" {
			rt.Errorf("the policy differs beyond the client (-benign +hostile):\n%s", diff)
		}
	})
}
