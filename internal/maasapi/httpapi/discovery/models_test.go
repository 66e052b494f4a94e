// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/discovery"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

const catalogTenant = "blue"

var listedAt = time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 3600))

// source has one picture for ever.
type modelSource struct{ snapshot *subscription.Snapshot }

func (s modelSource) Snapshot() *subscription.Snapshot { return s.snapshot }

// visibleOnly lists what the caller is entitled to see, and remembers the query.
type visibleOnly struct {
	asked *catalog.Query
	err   error
}

func (v *visibleOnly) List(_ context.Context, q catalog.Query) (catalog.Listing, error) {
	v.asked = &q
	if v.err != nil {
		return catalog.Listing{}, v.err
	}
	visible, err := q.Index.Visible(q.Caller, q.Subscription)
	l := catalog.Listing{Models: []catalog.Model{}, CheckedAt: listedAt, Check: catalog.CheckIncomplete}
	for _, s := range visible {
		l.Models = append(l.Models, catalog.Model{ID: s.Subscription.Name, Object: "model", Ready: true})
	}
	return l, err
}

// modelSnapshot has subscriptions gold and silver of group team, failed of the
// same, and strangers, all to one model that everybody may use.
func modelSnapshot() *subscription.Snapshot {
	ref := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite"}}
	policy := &v1alpha1.MaaSAuthPolicy{}
	policy.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: "llm", Name: "granite"}}
	policy.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: entitlement.AuthenticatedGroup}}
	f := entitlement.Facts{
		Models:       []entitlement.Tenanted[*v1alpha1.MaaSModelRef]{{Object: ref, Tenant: catalogTenant}},
		AuthPolicies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{{Object: policy, Tenant: catalogTenant}},
	}
	for name, owner := range map[string]string{"gold": "team", "silver": "team", "failed": "team", "strangers": "others"} {
		s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "blue-ns", Name: name}}
		s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: owner}}
		s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "granite", Unlimited: true}}
		s.Status.Phase = v1alpha1.PhaseActive
		if name == "failed" {
			s.Status.Phase = v1alpha1.PhaseFailed
		}
		f.Subscriptions = append(f.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: s, Tenant: catalogTenant})
	}
	return subscription.NewSnapshot(catalogTenant, f, listedAt)
}

const (
	permission = `"type":"permission_error"}}`
	emptyList  = `{"data":[],"object":"list"}`
	oneDenial  = `{"error":{"message":"access denied to requested subscription",` + permission
)

func entry(id string) string {
	return `{"id":"` + id + `","created":0,"object":"model","owned_by":"","ready":true}`
}

func TestModelListing(t *testing.T) {
	t.Parallel()
	alice := http.Header{"X-Maas-Username": {"alice"}, "X-Maas-Group": {`["team"]`}, "Authorization": {"Bearer token"}}
	with := func(pairs ...string) http.Header {
		h := alice.Clone()
		for i := 0; i < len(pairs); i += 2 {
			h.Del(pairs[i])
			for value := range strings.SplitSeq(pairs[i+1], "|") {
				h.Add(pairs[i], value)
			}
		}
		return h
	}
	without := func(h http.Header, name string) http.Header {
		h.Del(name)
		return h
	}
	const key = "Bearer sk-oai-abc"
	tests := map[string]struct {
		header      http.Header
		unsynced    bool
		err         error
		wantStatus  int
		wantBody    string
		wantChecked bool
	}{
		"nobody":                         {header: http.Header{}, wantStatus: 200, wantBody: emptyList, wantChecked: true},
		"nobody, with a credential":      {header: http.Header{"Authorization": {"Bearer x"}}, wantStatus: 200, wantBody: emptyList, wantChecked: true},
		"identity without a credential":  {header: without(with(), "Authorization"), wantStatus: 401, wantBody: `{"error":{"message":"Authorization required","type":"authentication_error"}}`},
		"two credentials":                {header: with("Authorization", "Bearer a|Bearer b"), wantStatus: 401, wantBody: `{"error":{"message":"Authorization must be sent once","type":"authentication_error"}}`},
		"half an identity":               {header: without(with(), "X-Maas-Group"), wantStatus: 500, wantBody: `{"error":"The gateway passed no usable identity for this request","exceptionCode":"AUTH_FAILURE","refId":"002"}`},
		"a key that is not bound":        {header: with("Authorization", key), wantStatus: 403, wantBody: `{"error":{"message":"API key has no subscription bound",` + permission},
		"a key in its own header, too":   {header: without(with("X-Api-Key", "sk-oai-abc"), "Authorization"), wantStatus: 403, wantBody: `{"error":{"message":"API key has no subscription bound",` + permission},
		"a bound key":                    {header: with("Authorization", key, "X-Maas-Subscription", "gold"), wantStatus: 200, wantBody: `{"data":[` + entry("gold") + `],"object":"list"}`, wantChecked: true},
		"a bound key in its own header":  {header: without(with("X-Api-Key", "sk-oai-abc", "X-Maas-Subscription", "gold"), "Authorization"), wantStatus: 200, wantBody: `{"data":[` + entry("gold") + `],"object":"list"}`, wantChecked: true},
		"an unknown subscription":        {header: with("X-Maas-Subscription", "none"), wantStatus: 403, wantBody: oneDenial},
		"a foreign subscription":         {header: with("X-Maas-Subscription", "strangers"), wantStatus: 403, wantBody: oneDenial},
		"an impossible subscription":     {header: with("X-Maas-Subscription", "No/Such/Name"), wantStatus: 403, wantBody: oneDenial},
		"a key of a deleted one":         {header: with("Authorization", key, "X-Maas-Subscription", "none"), wantStatus: 403, wantBody: oneDenial},
		"a key of somebody else's now":   {header: with("Authorization", key, "X-Maas-Subscription", "strangers"), wantStatus: 403, wantBody: oneDenial},
		"a Failed subscription":          {header: with("X-Maas-Subscription", "failed"), wantStatus: 403, wantBody: `{"error":{"message":"subscription is in Failed phase (allowed: Active, Degraded)",` + permission},
		"a Failed subscription of a key": {header: with("Authorization", key, "X-Maas-Subscription", "failed"), wantStatus: 403, wantBody: `{"error":{"message":"subscription is in Failed phase (allowed: Active, Degraded)",` + permission},
		"a token and no subscription":    {header: with(), wantStatus: 200, wantBody: `{"data":[` + entry("gold") + `,` + entry("silver") + `],"object":"list"}`, wantChecked: true},
		"a blank subscription":           {header: with("X-Maas-Subscription", "  "), wantStatus: 200, wantBody: `{"data":[` + entry("gold") + `,` + entry("silver") + `],"object":"list"}`, wantChecked: true},
		"several: the last that counts":  {header: with("X-Maas-Subscription", "strangers|silver|"), wantStatus: 200, wantBody: `{"data":[` + entry("silver") + `],"object":"list"}`, wantChecked: true},
		"a token with nothing":           {header: with("X-Maas-Group", "[]"), wantStatus: 200, wantBody: emptyList, wantChecked: true},
		"no picture of the tenant yet":   {header: with(), unsynced: true, wantStatus: 500, wantBody: `{"error":{"message":"Subscription system not configured","type":"server_error"}}`},
		"a failure":                      {header: with(), err: errors.New("secret detail"), wantStatus: 500, wantBody: `{"error":{"message":"Failed to list models","type":"server_error"}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lister := &visibleOnly{err: tc.err}
			m := discovery.Models{Source: modelSource{modelSnapshot()}, Lister: lister, Clock: clocktesting.NewFakeClock(listedAt), Timeout: time.Second}
			if tc.unsynced {
				m.Source = modelSource{}
			}
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", http.NoBody)
			r.Header = tc.header
			m.Routes()[0].Handler.ServeHTTP(w, r)
			if w.Code != tc.wantStatus {
				t.Errorf("status %d, want %d", w.Code, tc.wantStatus)
			}
			if diff := cmp.Diff(tc.wantBody, strings.TrimSpace(w.Body.String())); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			checked := ""
			if tc.wantChecked {
				checked = "2026-05-01T11:00:00Z"
			}
			if got := w.Header().Get("X-Access-Checked-At"); got != checked {
				t.Errorf("checked at %q, want %q", got, checked)
			}
			if got := w.Header().Get("X-Access-Check") != ""; got != tc.wantChecked {
				t.Errorf("says how far access was checked: %v, want %v", got, tc.wantChecked)
			}
		})
	}
}

func TestRouteOfModelsIsNeverStored(t *testing.T) {
	t.Parallel()
	routes := discovery.Models{Timeout: 15 * time.Second}.Routes()
	type facts struct {
		Method, Pattern string
		Audience        httpapi.Audience
		Family          httpapi.Family
		NoStore         bool
		Timeout         time.Duration
	}
	r := routes[0]
	want := facts{http.MethodGet, "/v1/models", httpapi.Public, httpapi.FamilyTyped, true, 20 * time.Second}
	if diff := cmp.Diff(want, facts{r.Method, r.Pattern, r.Audience, r.Family, r.NoStore, r.Timeout}); diff != "" || len(routes) != 1 {
		t.Errorf("%d routes, (-want +got):\n%s", len(routes), diff)
	}
}

func TestModelsAreAskedWithWhatTheCallerSent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		authorization, key string
		want               catalog.Credential
	}{
		"a token, byte for byte":      {"bearer  ToKeN==", "", catalog.NewCredential("bearer  ToKeN==", "")},
		"a key in its own header":     {"", "sk-oai-abc", catalog.NewCredential("", "sk-oai-abc")},
		"Authorization, when both go": {"Bearer token", "other", catalog.NewCredential("Bearer token", "")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lister := &visibleOnly{}
			m := discovery.Models{Source: modelSource{modelSnapshot()}, Lister: lister, Clock: clocktesting.NewFakeClock(listedAt)}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", http.NoBody)
			r.Header = http.Header{"X-Maas-Username": {"alice"}, "X-Maas-Group": {`["team"]`}, "X-Maas-Subscription": {"gold"}}
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			if tc.key != "" {
				r.Header.Set("X-Api-Key", tc.key)
			}
			m.Routes()[0].Handler.ServeHTTP(httptest.NewRecorder(), r)
			if lister.asked == nil || lister.asked.Credential != tc.want {
				t.Error("the credential is another")
			}
		})
	}
}
