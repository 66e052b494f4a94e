// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

const (
	infra    = "odh-ai-gateway-infra"
	issuer   = "https://idp.example.com/realms/maas"
	oidcID   = "maas-client"
	apiKey   = "sk-oai-abc123"
	jwtToken = "aaa.bbb.ccc"
	opaque   = "sha256~opaque"
	models   = "/maas-api/v1/models"
)

// input is a tenant with everything switched on.
func input() access.Input {
	return access.Input{
		Tenant: tenancy.Context{
			Name: "red", ID: "red", Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "red-gateway"},
			OIDC: &tenancy.OIDC{IssuerURL: issuer, ClientID: oidcID, TTLSeconds: 300},
		},
		AcceptKeyHeader: true,
		Settings:        access.Settings{InfraNamespace: infra, Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 30},
		Labels:          map[string]string{"app.kubernetes.io/managed-by": "maas-controller", "app.kubernetes.io/name": "maas-api"},
	}
}

// plain is the default tenant, with nothing switched on.
func plain() access.Input {
	in := input()
	in.Tenant = tenancy.Context{Name: tenancy.DefaultName, Gateway: types.NamespacedName{Namespace: "openshift-ingress", Name: "maas-default-gateway"}}
	in.AcceptKeyHeader = false
	return in
}

// engine renders the templates.
func engine(tb testing.TB) *render.Engine {
	tb.Helper()
	e, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	if err != nil {
		tb.Fatalf("render.New() error = %v", err)
	}
	return e
}

// policies are the objects of a tenant by their template.
func policies(tb testing.TB, in access.Input) map[render.ID]*unstructured.Unstructured {
	tb.Helper()
	requests, err := access.Guard(in)
	if err != nil {
		tb.Fatalf("Guard() error = %v", err)
	}
	service, err := access.MaaSAPIPolicy(in)
	if err != nil {
		tb.Fatalf("MaaSAPIPolicy() error = %v", err)
	}
	e, out := engine(tb), map[render.ID]*unstructured.Unstructured{}
	for _, request := range append(requests, service) {
		object, err := e.Render(request)
		if err != nil {
			tb.Fatalf("Render() error = %v", err)
		}
		out[request.ID] = object
	}
	return out
}

// service is what a gateway does with requests for maas-api: its route has an
// AuthPolicy of its own, and the limits of the Gateway.
func service(tb testing.TB, in access.Input) *enforced.Gateway {
	tb.Helper()
	p := policies(tb, in)
	return enforced.Of(tb, p[access.MaaSAPIPolicyTemplate], p[access.GatewayDenyTemplate])
}

func bearer(credential string) map[string]any {
	return map[string]any{"authorization": "Bearer " + credential}
}

func with(base map[string]any, name string, value any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = value
	return out
}

func claims() map[string]any {
	return map[string]any{"iss": issuer, "sub": "s-1", "preferred_username": "alice", "azp": oidcID, "groups": []any{"engineers"}}
}

func review(username string, groups ...any) map[string]any {
	return map[string]any{"authenticated": true, "user": map[string]any{"username": username, "uid": "u-1", "groups": groups}}
}

func keyReply() map[string]any {
	return map[string]any{"valid": true, "userId": "u-1", "username": "alice", "keyId": "k-1", "keyName": "laptop", "groups": []any{"engineers"}, "subscription": "gold"}
}

func replies(reply any) func(map[string]any) any { return func(map[string]any) any { return reply } }

// byKey, byJWT and byToken are requests of callers whom somebody vouches for.
func byKey(reply map[string]any) enforced.Request {
	return enforced.Request{Method: "GET", Path: models, Headers: bearer(apiKey), Validate: replies(reply)}
}

func byJWT(claimed map[string]any) enforced.Request {
	return enforced.Request{Method: "GET", Path: models, Headers: bearer(jwtToken), Claims: claimed}
}

func byToken(username string, groups ...any) enforced.Request {
	groups = append(slices.Clone(groups), "system:authenticated") // As the cluster says of everybody it knows.
	return enforced.Request{Method: "GET", Path: models, Headers: bearer(opaque), Review: review(username, groups...)}
}

// sending adds a header.
func sending(r enforced.Request, name string, value any) enforced.Request {
	r.Headers = with(r.Headers, name, value)
	return r
}

func noFailures(tb testing.TB, g *enforced.Gateway) {
	tb.Helper()
	if len(g.Failed) > 0 {
		tb.Errorf("expressions that failed:\n%s", strings.Join(g.Failed, "\n"))
	}
}
