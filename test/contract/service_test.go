// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/callback"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/test/contract"
)

// ask is a request and the status it gets.
type ask struct {
	name   string // "METHOD /path"
	header map[string]string
	body   string
	in     surroundings
	// outside: the request is no request of the document, and is answered all the
	// same.
	outside bool
	want    int
}

func user(name string) map[string]string {
	return map[string]string{"X-MaaS-Username": name, "X-MaaS-Group": `["system:authenticated","team-a","engineers"]`, "Authorization": "Bearer token"}
}

// headers returns those of base with another one.
func headers(base map[string]string, name, value string) map[string]string {
	out := maps.Clone(base)
	out[name] = value
	return out
}

// huge is a body above every bound.
func huge() string { return `{"x":"` + strings.Repeat("a", httpapi.DefaultMaxBody) + `"}` }

// keyAsks are about API keys.
func keyAsks() []ask {
	anne, root, key := user("anne"), user("root"), "/v1/api-keys/"+apikeytest.ID("full")
	broken, replaced := surroundings{store: errBroken}, surroundings{store: apikey.ErrTenantReplaced}
	const create, search, bulk = "POST /v1/api-keys", "POST /v1/api-keys/search", "POST /v1/api-keys/bulk-revoke"
	return []ask{
		{create, anne, `{"name":"a","description":"d","subscription":"free","expiresIn":"1.5d","labels":{"team":"a"},"more":1}`, surroundings{}, false, 201},
		{create, anne, `{"ephemeral":true,"expiresIn":600.5}`, surroundings{}, false, 201},
		{create, anne, `{"name":"a","expiresIn":null,"labels":null}`, surroundings{}, false, 201},
		{create, anne, `{}`, surroundings{}, false, 400},
		{create, anne, ``, surroundings{}, false, 400},
		{create, anne, `{"name":1}`, surroundings{}, false, 400},
		{create, anne, `{"name":"a","subscription":"nothing"}`, surroundings{}, false, 400},
		{create, headers(anne, "X-MaaS-Group", `["a b"]`), `{"name":"a"}`, surroundings{}, false, 400},
		{create, anne, `{"name":"a","subscription":"broken"}`, surroundings{}, false, 403},
		{create, anne, `{"name":"a"}`, surroundings{full: true}, false, 403},
		{create, anne, huge(), surroundings{}, false, 413},
		{create, anne, `{"name":"a"}`, broken, false, 500},
		{create, nil, `{"name":"a"}`, surroundings{}, false, 500},
		{create, anne, `{"name":"a"}`, surroundings{unread: true}, false, 503},

		{"GET /v1/api-keys/config", anne, "", surroundings{}, false, 200},
		{"GET /v1/api-keys/config", map[string]string{"X-MaaS-Username": "anne"}, "", surroundings{}, false, 500},

		{search, nil, `no JSON`, surroundings{}, true, 200},
		{search, anne, ``, surroundings{}, false, 200},
		{search, root, `{"pagination":{"limit":2},"sort":{"by":"name","order":"ASC"},"filters":{"includeEphemeral":true}}`, surroundings{}, false, 200},
		{search, anne, `{"filters":{"status":["active","expired"],"subscription":"free","createdAfter":"2020-01-01T00:00:00Z","createdBefore":"2030-01-01T00:00:00Z",` +
			`"expiresAfter":"2020-01-01T00:00:00Z","expiresBefore":"2030-01-01T00:00:00Z","lastUsedAfter":"2020-01-01T00:00:00Z","nameContains":"f",` +
			`"descriptionContains":"e","hasExpiration":true,"hasBeenUsed":true,"labelsContain":{"team":"search"}}}`, surroundings{}, false, 200},
		{search, anne, `{"filters":{"labelsContain":{"no":"such"}}}`, surroundings{}, false, 200},
		{search, anne, `{"pagination":{"limit":0}}`, surroundings{}, false, 400},
		{search, anne, `{"pagination":{"cursor":"x"}}`, surroundings{}, false, 400},
		{search, anne, `{"filters":{"username":"bob"}}`, surroundings{}, false, 403},
		{search, anne, huge(), surroundings{}, false, 413},
		{search, anne, `{}`, surroundings{admins: errBroken}, false, 500},
		{search, headers(anne, "X-MaaS-Group", "x"), `{}`, surroundings{}, false, 500},
		{search, anne, `{}`, replaced, false, 503},

		{bulk, anne, `{"username":"anne"}`, surroundings{}, false, 200},
		{bulk, root, `{"username":"anne","subscription":"free","dryRun":true}`, surroundings{}, false, 200},
		{bulk, anne, `{}`, surroundings{}, false, 400},
		{bulk, anne, `{"username":"bob"}`, surroundings{}, false, 403},
		{bulk, anne, huge(), surroundings{}, false, 413},
		{bulk, anne, `{"username":"anne"}`, broken, false, 500},
		{bulk, anne, `{"username":"anne"}`, replaced, false, 503},

		{"GET " + key, anne, "", surroundings{}, false, 200},
		{"GET /v1/api-keys/" + apikeytest.ID("unending"), anne, "", surroundings{}, false, 200},
		{"GET /v1/api-keys/" + apikeytest.ID("foreign"), anne, "", surroundings{}, false, 404},
		{"GET " + key, anne, "", broken, false, 500},
		{"GET " + key, anne, "", replaced, false, 503},
		{"DELETE " + key, anne, "", surroundings{}, false, 200},
		{"DELETE /v1/api-keys/" + apikeytest.ID("foreign"), anne, "", surroundings{}, false, 404},
		{"DELETE " + key, anne, "", broken, false, 500},
		{"DELETE " + key, anne, "", replaced, false, 503},
	}
}

// listingAsks are about what a caller may use, and about the tenant.
func listingAsks() []ask {
	anne, unbound := user("anne"), headers(user("anne"), "Authorization", "Bearer "+goldKey)
	bound := headers(unbound, "X-MaaS-Subscription", "gold")
	denied := headers(user("anne"), "X-MaaS-Group", "x")
	gateways := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "gateways"}
	const models, all, ofModel, tenants = "GET /v1/models", "GET /v1/subscriptions", "GET /v1/model/granite/subscriptions", "GET /v1/tenants"
	return []ask{
		{models, nil, "", surroundings{}, false, 200},
		{models, bound, "", surroundings{}, false, 200},
		{models, headers(anne, "Authorization", ""), "", surroundings{}, false, 401},
		{models, unbound, "", surroundings{}, false, 403},
		{models, anne, "", surroundings{unread: true}, false, 500},
		{models, denied, "", surroundings{}, false, 500},

		{all, nil, "", surroundings{}, false, 200},
		{all, anne, "", surroundings{}, false, 200},
		{all, user("lone"), "", surroundings{}, false, 200},
		{all, unbound, "", surroundings{}, false, 403},
		{all, anne, "", surroundings{unread: true}, false, 500},
		{all, denied, "", surroundings{}, false, 500},
		{ofModel, anne, "", surroundings{}, false, 200},
		{ofModel, unbound, "", surroundings{}, false, 403},
		{ofModel, denied, "", surroundings{}, false, 500},

		{tenants, anne, "", surroundings{}, false, 200},
		{tenants, nil, "", surroundings{}, false, 401},
		{tenants, anne, "", surroundings{token: kube.ErrUnauthenticated}, false, 401},
		{tenants, anne, "", surroundings{stranger: true}, false, 403},
		{tenants, anne, "", surroundings{gateway: apierrors.NewForbidden(gateways, "maas", errBroken)}, false, 403},
		{tenants, anne, "", surroundings{gateway: apierrors.NewNotFound(gateways, "maas")}, false, 404},
		{tenants, anne, "", surroundings{cluster: errBroken}, false, 500},
		{tenants, anne, "", surroundings{gateway: errBroken}, false, 500},
		{tenants, anne, "", surroundings{token: errBroken}, false, 503},
		{tenants, anne, "", surroundings{gateway: kube.ErrNoHost}, false, 503},
		{tenants, anne, "", surroundings{gateway: apierrors.NewTimeoutError("slow", 1)}, false, 504},
	}
}

// otherAsks are those of probes, readers of the description, the gateway and jobs.
func otherAsks() []ask {
	known := map[string]string{"If-None-Match": "*"}
	const validate, selection = "POST " + validatePath, "POST " + callback.SelectPath
	const cleanup, revoke = "POST /internal/v1/api-keys/cleanup", "DELETE /internal/v1/tenants/" + tenant + "/api-keys"
	return []ask{
		{"GET /health", nil, "", surroundings{}, false, 200},
		{"GET /livez", nil, "", surroundings{}, false, 200},
		{"GET /readyz", nil, "", surroundings{}, false, 200},
		{"GET /readyz?verbose", nil, "", surroundings{}, false, 200},
		{"GET /readyz", nil, "", surroundings{unready: true}, false, 503},
		{"GET /openapi.json", nil, "", surroundings{}, false, 200},
		{"GET /openapi.json", known, "", surroundings{}, false, 304},
		{"GET /docs", nil, "", surroundings{}, false, 200},
		{"GET /docs", known, "", surroundings{}, false, 304},
		{"GET /docs/docs.js", nil, "", surroundings{}, false, 200},
		{"GET /docs/swagger-ui.css", nil, "", surroundings{}, false, 200},
		{"GET /docs/favicon-32x32.png", nil, "", surroundings{}, false, 200},
		{"GET /docs/docs.js", known, "", surroundings{}, false, 304},
		{"GET /docs/other.js", nil, "", surroundings{}, false, 404},

		{validate, nil, `{"key":"` + goldKey + `"}`, surroundings{}, false, 200},
		{validate, nil, `{"key":"` + oldKey + `"}`, surroundings{}, false, 200},
		{validate, nil, `{"key":"` + revokedKey + `"}`, surroundings{}, false, 200},
		{validate, nil, `{}`, surroundings{}, false, 400},
		{validate, nil, huge(), surroundings{}, false, 413},
		{validate, nil, `{"key":"` + faultyKey + `"}`, surroundings{}, false, 500},
		{selection, nil, `{"username":"anne","groups":["engineers"],"requestedSubscription":"gold","requestedModel":"llm/granite"}`, surroundings{}, false, 200},
		{selection, nil, `{"username":"anne","groups":["engineers"],"requestedSubscription":"old"}`, surroundings{}, false, 200},
		{selection, nil, `{"username":"anne","groups":null}`, surroundings{}, false, 200},
		{selection, nil, `{"username":"anne"}`, surroundings{unread: true}, false, 200},
		{selection, nil, `nothing`, surroundings{}, false, 200},
		{selection, nil, huge(), surroundings{}, false, 413},
		{cleanup, nil, "", surroundings{}, false, 200},
		{cleanup, nil, "", surroundings{store: errBroken}, false, 500},
		{cleanup, nil, "", surroundings{store: apikey.ErrTenantReplaced}, false, 503},
		{revoke, nil, "", surroundings{}, false, 200},
		{"DELETE /internal/v1/tenants/other/api-keys", nil, "", surroundings{}, false, 400},
		{revoke, nil, "", surroundings{store: errBroken}, false, 500},
		{revoke, nil, "", surroundings{store: apikey.ErrTenantReplaced}, false, 503},

		{"GET /v1/tiers/lookup", nil, "", surroundings{}, false, 404},
		{"PATCH /v1/api-keys", user("anne"), "{}", surroundings{}, false, 404},
		{"OPTIONS /v1/models", nil, "", surroundings{}, false, 204},
		{"POST /v1/api-keys/", nil, "{}", surroundings{}, false, 307},
		{"POST " + validatePath, map[string]string{"X-Forwarded-For": "10.0.0.1"}, `{"key":"` + goldKey + `"}`, surroundings{}, false, 404},
	}
}

// starting are the answers of a service that has no handlers yet.
func starting() []string {
	return []string{
		"GET /v1/api-keys/config 503", "GET /v1/models 503", "GET /v1/subscriptions 503", "GET /v1/model/{modelID}/subscriptions 503",
		"POST " + validatePath + " 503", "POST " + callback.SelectPath + " 503",
	}
}

func TestEveryDescribedAnswerIsGivenAsDescribed(t *testing.T) {
	t.Parallel()
	checked := newCheckedService(t)
	for _, asks := range [][]ask{keyAsks(), listingAsks(), otherAsks()} {
		for _, a := range asks {
			ctx := t.Context()
			if a.outside {
				ctx = contract.Outside(ctx)
			}
			method, path, _ := strings.Cut(a.name, " ")
			request := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(a.body))
			for name, value := range a.header {
				request.Header.Set(name, value)
			}
			recorder := httptest.NewRecorder()
			serviceHandler(t, checked, a.in).ServeHTTP(recorder, request)
			if recorder.Code != a.want {
				t.Errorf("%s %.80s: status %d, want %d: %.300s", a.name, a.body, recorder.Code, a.want, recorder.Body)
			}
			if got := recorder.Header().Get("X-Request-Id"); got != "request-1" {
				t.Errorf("%s: X-Request-ID = %q", a.name, got)
			}
		}
	}
	for _, unseen := range checked.Unseen(starting()...) {
		t.Errorf("described and never answered: %s", unseen)
	}
}

// What every caller can do must not depend on what the body is called.
func TestBodiesAreReadWhateverTheyAreCalled(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/api-keys", strings.NewReader(`{"name":"a"}`))
	for name, value := range user("anne") {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	recorder := httptest.NewRecorder()
	serviceHandler(t, newCheckedService(t), surroundings{}).ServeHTTP(recorder, request)
	if recorder.Code != http.StatusCreated {
		t.Errorf("status = %d: %s", recorder.Code, recorder.Body)
	}
}
