// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

// Row A21 of field-failures.md: whatever the path, the Gateway itself lets nobody in,
// the paths of maas-api included when its own policy is missing.
func TestTheGatewayItselfLetsNobodyIn(t *testing.T) {
	t.Parallel()
	paths := []string{"/llm/granite/v1/chat/completions", "/v1/chat/completions", "/maas-api/v1/models", "/v1/models?x=1", "/maas-api/health", "/maas-api/internal/v1/api-keys/validate", "/"}
	tests := map[string]struct {
		request enforced.Request
		want    int
	}{
		"nobody":              {enforced.Request{}, 401},
		"an empty credential": {enforced.Request{Headers: map[string]any{"authorization": "", "X-Api-Key": ""}}, 401},
		"a valid key":         {byKey(keyReply()), 403},
		"a key in x-api-key":  {enforced.Request{Headers: map[string]any{"X-Api-Key": apiKey}, Validate: replies(keyReply())}, 403},
		"a valid JWT":         {byJWT(claims()), 403},
		"a valid token":       {byToken("system:admin", "system:masters"), 403},
		"a forged identity":   {enforced.Request{Headers: map[string]any{"x-maas-username": "admin", "x-maas-group": `["admins"]`}}, 401},
		"any credential":      {enforced.Request{Headers: map[string]any{"Authorization": "Basic YTpi"}}, 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policies(t, input())
			g := enforced.Of(t, p[access.GatewayAuthTemplate], p[access.GatewayDenyTemplate])
			for _, path := range paths {
				request := test.request
				request.Path = path
				got := g.Serve(request)
				if got.Status != test.want {
					t.Errorf("%s: status = %d, want %d", path, got.Status, test.want)
				}
				if got.Status == 403 && got.Message != "Access denied" {
					t.Errorf("%s: body = %v", path, got.Message)
				}
				if len(got.Asked) > 0 {
					t.Errorf("%s: a credential is passed on to %v", path, got.Asked)
				}
			}
			noFailures(t, g)
		})
	}
}

// inference are paths of models, some of which look like those of maas-api.
var inference = []string{
	"/llm/granite/v1/chat/completions", "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/",
	"/llm/granite/v1/chat/completions?x=/v1/models", "/llm/granite/v1/completions?/v1/models", "/v1/chat/completions?/maas-api/v1/models",
	"/maas-api-2/granite/v1/chat/completions", "/maas-api/granite/v1/chat/completions", "/v1/modelsx/y/v1/chat/completions", "/v1/models-2", "/maas-api", "/llm/v1/models",
}

// management are the paths of maas-api as clients ask for them, and as they are after
// the route has replaced them.
func management() []string {
	var paths []string
	for _, p := range publicpath.Paths() {
		for _, path := range []string{p.Path, p.Target} {
			if path == "" {
				continue
			}
			paths = append(paths, path, path+"?x=1", path+"?x=/llm/granite/v1/chat/completions")
			if !p.Exact {
				paths = append(paths, path+"/search", path+"/k-1?limit=5")
			}
		}
	}
	return paths
}

// Rows A08, A09 and B11 of field-failures.md. The caller is one whom the policy of a
// route lets in that has no limits of its own.
func TestNoTokensForAnybodyButMaaSAPIIsFree(t *testing.T) {
	t.Parallel()
	g := service(t, input())
	want := map[int][]string{200: management(), 429: inference}
	for status, paths := range want {
		for _, path := range paths {
			for name, request := range map[string]enforced.Request{"key": byKey(keyReply()), "JWT": byJWT(claims()), "token": byToken("alice")} {
				request.Method, request.Path = "POST", path
				if got := g.Serve(request); got.Status != status {
					t.Errorf("%s with a %s: status = %d, want %d", path, name, got.Status, status)
				}
			}
		}
	}
	noFailures(t, g)
}

// The limit speaks of auth, so that Kuadrant has it judged when the caller is known,
// but needs nothing of it: what is missing must not keep it from being counted.
func TestTheLimitNeedsNothingOfTheCaller(t *testing.T) {
	t.Parallel()
	limits := enforced.LimitsOf(t, policies(t, plain())[access.GatewayDenyTemplate])
	if len(limits) != 1 || !limits[0].Closed || limits[0].Name != "deny-all-by-default" || len(limits[0].Counters) > 0 {
		t.Fatalf("limits: %+v", limits)
	}
	if !strings.Contains(limits[0].Predicate, "auth.") {
		t.Errorf("%s is judged before anybody is asked for a credential", limits[0].Predicate)
	}
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("request", cel.AnyType), cel.Variable("auth", cel.AnyType))
	if err != nil {
		t.Fatalf("make environment: %v", err)
	}
	ast, issues := env.Compile(limits[0].Predicate)
	if issues.Err() != nil {
		t.Fatalf("compile: %v", issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	for path, want := range map[string]bool{"/llm/granite/v1/chat/completions": true, "/v1/models": false} {
		for name, auth := range map[string]any{"nobody": nil, "an empty auth": map[string]any{}, "somebody": map[string]any{"identity": "sk-oai-x"}} {
			in := map[string]any{"request": map[string]any{"url_path": path}}
			if auth != nil {
				in["auth"] = auth
			}
			value, _, err := program.Eval(in)
			if err != nil || value.Value() != want {
				t.Errorf("%s for %s: %v, %v, want %t", path, name, value, err, want)
			}
		}
	}
}

func TestWhatAndWhereThePoliciesAre(t *testing.T) {
	t.Parallel()
	type place struct{ namespace, name, kind, target, component string }
	tests := map[string]struct {
		in   access.Input
		want []place
	}{
		"the default tenant": {plain(), []place{
			{"openshift-ingress", "gateway-default-auth", "Gateway", "maas-default-gateway", "default-policy"},
			{"openshift-ingress", "gateway-default-deny", "Gateway", "maas-default-gateway", "default-policy"},
			{infra, "maas-api-auth-policy", "HTTPRoute", "maas-api-route", "api"},
		}},
		"another": {input(), []place{
			{"openshift-ingress", "gateway-default-auth-red", "Gateway", "red-gateway", "default-policy"},
			{"openshift-ingress", "gateway-default-deny-red", "Gateway", "red-gateway", "default-policy"},
			{infra, "maas-api-auth-policy-red", "HTTPRoute", "maas-api-route-red", "api"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := policies(t, test.in)
			for i, id := range []render.ID{access.GatewayAuthTemplate, access.GatewayDenyTemplate, access.MaaSAPIPolicyTemplate} {
				policy := p[id]
				target := policy.Object["spec"].(map[string]any)["targetRef"].(map[string]any)
				labels := policy.GetLabels()
				got := place{policy.GetNamespace(), policy.GetName(), target["kind"].(string), target["name"].(string), labels["app.kubernetes.io/component"]}
				if got != test.want[i] {
					t.Errorf("%s is %+v, want %+v", id, got, test.want[i])
				}
				if labels["app.kubernetes.io/managed-by"] != "maas-controller" {
					t.Errorf("%s: labels %v", id, labels)
				}
			}
			if _, changed := test.in.Labels["app.kubernetes.io/component"]; changed {
				t.Error("the labels of the input were changed")
			}
		})
	}
}
