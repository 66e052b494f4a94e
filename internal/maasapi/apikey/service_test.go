// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

func TestAuditRecords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event apikey.AuditEvent
		want  map[string]any
	}{
		"a new key": {
			event: apikey.AuditEvent{
				Action: apikey.ActionCreate, Result: apikey.ResultSuccess, Actor: "alice", Tenant: "t", KeyID: "id", TargetSubscription: "free", Count: 1,
			},
			want: map[string]any{
				"level": "INFO", "msg": "AUDIT create", "audit.action": "create", "audit.result": "success", "audit.actor": "<alice>",
				"audit.tenant": "t", "audit.keyId": "id", "audit.targetSubscription": "<free>", "audit.createdCount": 1.0,
			},
		},
		"a revoked key": {
			event: apikey.AuditEvent{Action: apikey.ActionRevoke, Result: apikey.ResultDenied, Actor: "bob", Tenant: "t", KeyID: "id"},
			want: map[string]any{
				"level": "WARN", "msg": "AUDIT revoke", "audit.action": "revoke", "audit.result": "denied", "audit.actor": "<bob>",
				"audit.tenant": "t", "audit.keyId": "id", "audit.revokedCount": 0.0,
			},
		},
		"many revoked keys": {
			event: apikey.AuditEvent{
				Action: apikey.ActionBulkRevoke, Result: apikey.ResultSuccess, Actor: "admin", Tenant: "t", TargetUser: "alice", TargetSubscription: "free", Count: 3,
			},
			want: map[string]any{
				"level": "INFO", "msg": "AUDIT bulk-revoke", "audit.action": "bulk-revoke", "audit.result": "success", "audit.actor": "<admin>",
				"audit.tenant": "t", "audit.targetUser": "<alice>", "audit.targetSubscription": "<free>", "audit.revokedCount": 3.0,
			},
		},
		"those of a tenant": {
			event: apikey.AuditEvent{Action: apikey.ActionTenantRevoke, Result: apikey.ResultFailed, Tenant: "t"},
			want: map[string]any{
				"level": "WARN", "msg": "AUDIT tenant-revoke", "audit.action": "tenant-revoke", "audit.result": "failed", "audit.actor": "internal",
				"audit.tenant": "t", "audit.revokedCount": 0.0,
			},
		},
		"purged keys": {
			event: apikey.AuditEvent{Action: apikey.ActionPurge, Result: apikey.ResultSuccess, Tenant: "t", Count: 2},
			want: map[string]any{
				"level": "INFO", "msg": "AUDIT purge", "audit.action": "purge", "audit.result": "success", "audit.actor": "internal",
				"audit.tenant": "t", "audit.deletedCount": 2.0,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			mark := func(name string) string { return "<" + name + ">" }
			apikey.NewSlogAuditor(slog.New(slog.NewJSONHandler(&log, nil)), mark).Audit(t.Context(), test.event)
			var got map[string]any
			if err := json.Unmarshal(log.Bytes(), &got); err != nil {
				t.Fatalf("the record %q: %v", log.String(), err)
			}
			delete(got, "time")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditRecordsHoldNoNamesAndNoLines(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	auditor := apikey.NewSlogAuditor(slog.New(slog.NewJSONHandler(&log, nil)), func(string) string { return "x" })
	for _, action := range []apikey.Action{
		apikey.ActionCreate, apikey.ActionRevoke, apikey.ActionBulkRevoke, apikey.ActionTenantRevoke, apikey.ActionCleanup, apikey.ActionPurge,
	} {
		auditor.Audit(t.Context(), apikey.AuditEvent{Action: action, Actor: "alice\n", TargetUser: "alice\n", TargetSubscription: "gold\n"})
	}
	if text := log.String(); strings.Contains(text, "alice") || strings.Contains(text, "gold") || strings.Count(text, "\n") != 6 {
		t.Errorf("the records are:\n%s", text)
	}
}

func TestNewServiceRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*apikey.Options)
		want   string
	}{
		"no store":           {func(o *apikey.Options) { o.Store = nil }, "are required"},
		"no auditor":         {func(o *apikey.Options) { o.Auditor = nil }, "are required"},
		"no clock":           {func(o *apikey.Options) { o.Clock = nil }, "are required"},
		"no randomness":      {func(o *apikey.Options) { o.Random = nil }, "are required"},
		"no log":             {func(o *apikey.Options) { o.Log = nil }, "are required"},
		"no tenant":          {func(o *apikey.Options) { o.Tenant = "" }, "tenant is required"},
		"no days":            {func(o *apikey.Options) { o.MaxExpirationDays = 0 }, "from 1 to 106751 days"},
		"more days than fit": {func(o *apikey.Options) { o.MaxExpirationDays = 106752 }, "from 1 to 106751 days"},
		"a negative quota":   {func(o *apikey.Options) { o.MaxKeysPerUser = -1 }, "must not be negative"},
		"metrics that are there": {func(o *apikey.Options) {
			o.Registerer = prometheus.NewRegistry()
			_, _ = apikey.NewService(*o)
		}, "register metrics"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o apikey.Options
			apikeytest.NewWorld(t, func(valid *apikey.Options) { o = *valid })
			o.Registerer = nil
			test.change(&o)
			if _, err := apikey.NewService(o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("NewService: %v; want %q", err, test.want)
			}
		})
	}
}

func TestServiceForJobsHasNoAdministrators(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Admins, o.Registerer, o.Revoked = nil, nil, nil })
	w.Store.Add(w.Key("alice", "key", 1))
	if _, err := w.Get(t.Context(), apikeytest.Member("admin"), apikeytest.ID("key")); err == nil {
		t.Error("somebody sees the key of another")
	}
	if got, err := w.RevokeTenant(t.Context(), apikeytest.Tenant); got != 1 || err != nil {
		t.Errorf("RevokeTenant: %d, %v", got, err)
	}
}

func TestLongestLifeFitsADuration(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.MaxExpirationDays = apikey.MaxExpirationDays })
	got, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k"})
	if life := got.Key.ExpiresAt.Sub(got.Key.CreatedAt); err != nil || life != time.Duration(apikey.MaxExpirationDays)*day {
		t.Errorf("the key lives %v, %v", life, err)
	}
	if got := w.Limits(); got != (apikey.Limits{MaxExpirationDays: 106751, EphemeralMaximum: time.Hour}) {
		t.Errorf("Limits = %+v", got)
	}
}

func TestCausesOfFailuresAreLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	w.Store.Fail = failing("Insert")
	_, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "private-name"})
	if _, _, message := apikeytest.CodeOf(t, err); strings.Contains(message, errDown.Error()) {
		t.Errorf("the caller is told: %s", message)
	}
	if text := log.String(); !strings.Contains(text, errDown.Error()) || strings.Contains(text, "alice") || strings.Contains(text, "private-name") {
		t.Errorf("the log is: %s", text)
	}
}
