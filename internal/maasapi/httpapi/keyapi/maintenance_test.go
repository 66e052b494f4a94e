// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/keyapi"
)

func TestBulkRevoke(t *testing.T) {
	t.Parallel()
	// E-65, E-66, E-67.
	tests := map[string]struct {
		user, body string
		status     int
		want       string
	}{
		"nothing":    {"admin", `{}`, 400, `{"error":"at least one of username or subscription is required"}`},
		"no body":    {"admin", ``, 400, `{"error":"The request body is empty; send a JSON object"}`},
		"own keys":   {"alice", `{"username":"alice"}`, 200, `{"revokedCount":2,"message":"Successfully revoked 2 active API key(s) for user alice"}`},
		"somebody's": {"alice", `{"username":"bob"}`, 403, `{"error":"Access denied: admin privileges required for this bulk revoke operation"}`},
		"a subscription": {
			"admin", `{"subscription":" free "}`, 200, `{"revokedCount":2,"message":"Successfully revoked 2 active API key(s) for subscription free"}`,
		},
		"somebody's of a subscription": {
			"admin", `{"username":"alice","subscription":"free"}`, 200,
			`{"revokedCount":1,"message":"Successfully revoked 1 active API key(s) for user alice in subscription free"}`,
		},
		"a dry run": {
			"admin", `{"username":"alice","dryRun":true}`, 200, `{"revokedCount":2,"message":"Dry run: 2 active key(s) would be revoked for user alice","dryRun":true}`,
		},
		"a dry run in other letters": {
			"admin", `{"username":"alice","dryrun":true}`, 200, `{"revokedCount":2,"message":"Dry run: 2 active key(s) would be revoked for user alice","dryRun":true}`,
		},
		"an unknown member": {"alice", `{"username":"alice","force":1}`, 200, `{"revokedCount":2,"message":"Successfully revoked 2 active API key(s) for user alice"}`},
		"a wrong type":      {"alice", `{"username":1}`, 400, `{"error":"The member \"username\" of the request body has the wrong type"}`},
		"no object":         {"alice", `[]`, 400, `{"error":"The request body or one of its members has the wrong type"}`},
		"a NUL":             {"admin", `{"username":"\u0000"}`, 400, `{"error":"The request body has the character NUL in a text"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Admins.Names = []string{"admin"}
			premium := s.Key("alice", "premium", 1)
			premium.Subscription = "premium"
			s.Store.Add(s.Key("alice", "free", 1), premium, s.Key("bob", "bobs", 1))
			wantAnswer(t, s.call(t, test.user, "POST "+keys+"/bulk-revoke", test.body), test.status, test.want)
		})
	}
}

func TestSlipsOfDryRunRevokeNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ member, named string }{
		"with an underscore": {`"dry_run"`, "dry_run"},
		"with a hyphen":      {`"dry-run"`, "dry-run"},
		"in capitals":        {`"DRY_RUN"`, "DRY_RUN"},
		"escaped":            {`"dry\u005frun"`, "dry_run"},
		"very long":          {`"dry` + strings.Repeat("_", 100) + `run"`, "dry" + strings.Repeat("_", 61)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Store.Add(s.Key("alice", "mine", 1))
			wantAnswer(t, s.call(t, "alice", "POST "+keys+"/bulk-revoke", `{"username":"alice",`+test.member+`:true}`),
				400, `{"error":"The member \"`+test.named+`\" is unknown: write dryRun"}`)
			wantAnswer(t, s.call(t, "alice", "POST "+keys+"/bulk-revoke", `{"username":"alice"}`),
				200, `{"revokedCount":1,"message":"Successfully revoked 1 active API key(s) for user alice"}`)
		})
	}
}

func TestCleanup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	k := s.Key("alice", "old", 3)
	k.Ephemeral, k.ExpiresAt = true, s.Clock.Now().Add(-time.Hour)
	s.Store.Add(k)
	s.Store.Due = 7
	const path = "/internal/v1/api-keys/cleanup"
	wantAnswer(t, s.call(t, "", "POST "+path, ""), http.StatusOK,
		`{"deletedCount":1,"purgedCount":7,"message":"Successfully deleted 1 expired ephemeral key(s)"}`)
	wantAnswer(t, s.call(t, "", "POST "+path, ""), http.StatusOK,
		`{"deletedCount":0,"message":"Successfully deleted 0 expired ephemeral key(s)"}`)
}

func TestRevokeTenant(t *testing.T) {
	t.Parallel()
	// E-71.
	s := newSite(t)
	s.Store.Add(s.Key("alice", "key", 1))
	path := func(tenant string) string { return "/internal/v1/tenants/" + tenant + "/api-keys" }
	wantAnswer(t, s.call(t, "", "DELETE "+path("other"), ""), http.StatusBadRequest, `{"error":"tenant mismatch"}`)
	wantAnswer(t, s.call(t, "", "DELETE "+path("%20"), ""), http.StatusBadRequest, `{"error":"tenant is required"}`)
	wantAnswer(t, s.call(t, "", "DELETE "+path(apikeytest.Tenant), ""), http.StatusOK,
		`{"revokedCount":1,"message":"Successfully revoked 1 active API key(s) for tenant models-as-a-service"}`)
	wantAnswer(t, s.call(t, "", "DELETE "+path(apikeytest.Tenant), ""), http.StatusOK,
		`{"revokedCount":0,"message":"Successfully revoked 0 active API key(s) for tenant models-as-a-service"}`)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	want := map[string]httpapi.Audience{
		"POST /v1/api-keys":                             httpapi.Public,
		"GET /v1/api-keys/config":                       httpapi.Public,
		"POST /v1/api-keys/search":                      httpapi.Public,
		"POST /v1/api-keys/bulk-revoke":                 httpapi.Public,
		"GET /v1/api-keys/{id}":                         httpapi.Public,
		"DELETE /v1/api-keys/{id}":                      httpapi.Public,
		"POST /internal/v1/api-keys/cleanup":            httpapi.Internal,
		"DELETE /internal/v1/tenants/{tenant}/api-keys": httpapi.Internal,
	}
	got := map[string]httpapi.Audience{}
	for _, route := range (keyapi.Handlers{}).Routes() {
		got[route.Method+" "+route.Pattern] = route.Audience
		if !route.NoStore {
			t.Errorf("answers of %s %s may be stored", route.Method, route.Pattern)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Routes (-want +got):\n%s", diff)
	}
}
