// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"regexp"
	"slices"
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

// The limits speak of auth, so that Kuadrant has them judged when the caller is known,
// but need nothing of it: what is missing must not keep them from being counted.
func TestTheLimitsNeedNothingOfTheCaller(t *testing.T) {
	t.Parallel()
	limits := enforced.LimitsOf(t, policies(t, plain())[access.GatewayDenyTemplate])
	const inference, management, health = "/llm/granite/v1/chat/completions", "/v1/models", "/maas-api/health"
	// For whom on which paths.
	want := map[string][]string{"nobody": {inference, management}, "somebody": {inference}}
	if len(limits) != 1 || limits[0].Name != "deny-all-by-default" {
		t.Fatalf("limits: %+v", limits)
	}
	callers := map[string][]map[string]any{
		// As an evaluator has it that shows what there is, and as the gateway's filter,
		// where what is asked for is always there.
		"nobody":   {{}, {"identity": map[string]any{"userid": nil}}},
		"somebody": {{"identity": map[string]any{"userid": "olga"}}},
	}
	for _, limit := range limits {
		if !limit.Closed || len(limit.Counters) > 0 {
			t.Errorf("limit: %+v", limit)
		}
		if !strings.Contains(limit.Predicate, "auth.") {
			t.Errorf("%s is judged before anybody is asked for a credential", limit.Predicate)
		}
		program := filterProgram(t, limit.Predicate)
		for _, path := range []string{inference, management, health} {
			for who, shapes := range callers {
				for _, auth := range shapes {
					value, _, err := program.Eval(map[string]any{"request": map[string]any{"method": "GET", "url_path": path}, "auth": auth})
					if want := slices.Contains(want[who], path); err != nil || value.Value() != want {
						t.Errorf("%s at %s for %s (%v): %v, %v, want %t", limit.Name, path, who, auth, value, err, want)
					}
				}
			}
		}
	}
}

// filterProgram compiles a predicate as Kuadrant checks it.
func filterProgram(t *testing.T, predicate string) cel.Program {
	t.Helper()
	env, err := cel.NewEnv(ext.Strings(), cel.Variable("request", cel.AnyType), cel.Variable("auth", cel.AnyType))
	if err != nil {
		t.Fatalf("make environment: %v", err)
	}
	ast, issues := env.Compile(predicate)
	if issues.Err() != nil {
		t.Fatalf("compile: %v", issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return program
}

// In the gateway's filter an attribute hides those below it. One predicate that names
// auth.identity would make the others of its policy errors, and errors do not limit.
func TestNoLimitNamesTheIdentityAsAWhole(t *testing.T) {
	t.Parallel()
	whole := regexp.MustCompile(`auth\.identity([^.]|$)`)
	for _, limit := range enforced.LimitsOf(t, policies(t, plain())[access.GatewayDenyTemplate]) {
		if whole.MatchString(limit.Predicate) {
			t.Errorf("limit %s: %s", limit.Name, limit.Predicate)
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
