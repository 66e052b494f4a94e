// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/discovery"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

const listedTenant = "models-as-a-service"

type listedSource struct{ snapshot *subscription.Snapshot }

func (s listedSource) Snapshot() *subscription.Snapshot { return s.snapshot }

// listed has two subscriptions of group team, gold on granite and silver on phi, and
// one of somebody else.
func listed() listedSource {
	var f entitlement.Facts
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: listedTenant, Name: "everybody"}}
	p.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: entitlement.AuthenticatedGroup}}
	for name, model := range map[string]string{"gold": "granite", "silver": "phi", "theirs": "granite"} {
		s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: listedTenant, Name: name}}
		s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "team"}}
		if name == "theirs" {
			s.Spec.Owner.Groups[0].Name = "others"
		}
		s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: model, Unlimited: true}}
		s.Status.Phase = v1alpha1.PhaseActive
		f.Subscriptions = append(f.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: s, Tenant: listedTenant})
		p.Spec.ModelRefs = append(p.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: "llm", Name: model})
	}
	f.AuthPolicies = append(f.AuthPolicies, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: p, Tenant: listedTenant})
	return listedSource{subscription.NewSnapshot(listedTenant, f, time.Unix(0, 0))}
}

// serve routes a request as the server does.
func serve(routes []httpapi.Route, r *http.Request) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.Method+" "+route.Pattern, route.Handler)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func get(t *testing.T, path string, headers ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

const (
	goldItem   = `{"subscription_id_header":"gold","subscription_description":"","priority":0,"model_refs":[{"name":"granite","unlimited":true}]}`
	silverItem = `{"subscription_id_header":"silver","subscription_description":"","priority":0,"model_refs":[{"name":"phi","unlimited":true}]}`
)

func TestListingsOfSubscriptions(t *testing.T) {
	t.Parallel()
	member := []string{"X-MaaS-Username", "alice", "X-MaaS-Group", `["team"]`}
	key := append([]string{"Authorization", "Bearer sk-oai-abc"}, member...)
	for name, test := range map[string]struct {
		source  listedSource
		path    string
		headers []string
		status  int
		body    string
	}{
		"nobody sees nothing":                            {listed(), "/v1/subscriptions", nil, 200, `[]`},
		"nobody sees nothing of a model":                 {listed(), "/v1/model/granite/subscriptions", nil, 200, `[]`},
		"nobody sees nothing before there is a snapshot": {listedSource{}, "/v1/subscriptions", nil, 200, `[]`},
		"owners see theirs, sorted by name":              {listed(), "/v1/subscriptions", member, 200, "[" + goldItem + "," + silverItem + "]"},
		"owners see theirs of a model":                   {listed(), "/v1/model/granite/subscriptions", member, 200, "[" + goldItem + "]"},
		"an unknown model has none":                      {listed(), "/v1/model/unknown/subscriptions", member, 200, `[]`},
		"a name that cannot be a model's has none":       {listed(), "/v1/model/a%2Fb%00/subscriptions", member, 200, `[]`},
		"a token's header chooses nothing":               {listed(), "/v1/subscriptions", append([]string{"X-MaaS-Subscription", "theirs"}, member...), 200, "[" + goldItem + "," + silverItem + "]"},
		"a key sees the one it is bound to":              {listed(), "/v1/subscriptions", append([]string{"X-MaaS-Subscription", "silver"}, key...), 200, "[" + silverItem + "]"},
		"a key in the other header does too":             {listed(), "/v1/subscriptions", append([]string{"X-Api-Key", "sk-oai-abc", "X-MaaS-Subscription", "silver"}, member...), 200, "[" + silverItem + "]"},
		"a key whose subscription is gone sees none":     {listed(), "/v1/subscriptions", append([]string{"X-MaaS-Subscription", "gone"}, key...), 200, `[]`},
		"a key sees none of somebody else":               {listed(), "/v1/subscriptions", append([]string{"X-MaaS-Subscription", "theirs"}, key...), 200, `[]`},
		"a key without a subscription is refused": {
			listed(), "/v1/subscriptions", key, 403, `{"error":{"message":"API key has no subscription bound","type":"permission_error"}}`,
		},
		"a name without groups is a fault of the gateway": {
			listed(), "/v1/subscriptions", member[:2], 500, `{"error":"The gateway passed no usable identity for this request","exceptionCode":"AUTH_FAILURE","refId":"002"}`,
		},
		"an owner has to wait for the first snapshot": {
			listedSource{}, "/v1/subscriptions", member, 500, `{"error":{"message":"Failed to list subscriptions","type":"server_error"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serve(discovery.Subscriptions{Source: test.source}.Routes(), get(t, test.path, test.headers...))
			if diff := cmp.Diff(test.body, w.Body.String()); w.Code != test.status || diff != "" {
				t.Errorf("status %d, want %d, body (-want +got):\n%s", w.Code, test.status, diff)
			}
		})
	}
}

func TestListingsOfSubscriptionsAreNotStored(t *testing.T) {
	t.Parallel()
	for _, route := range (discovery.Subscriptions{Source: listed()}).Routes() {
		if !route.NoStore || route.Audience != httpapi.Public || route.Family != httpapi.FamilyTyped {
			t.Errorf("route %+v", route)
		}
	}
}
