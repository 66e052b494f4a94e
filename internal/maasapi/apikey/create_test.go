// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

const mints = "maas_api_token_mint_total"

var errDown = errors.New("connection refused")

// failing makes one method of the store fail.
func failing(method string) func(string) error {
	return func(called string) error {
		if called == method {
			return errDown
		}
		return nil
	}
}

func TestCreateStoresWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	// E-24, E-25, E-41.
	w := apikeytest.NewWorld(t)
	got, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{
		Name: " my key ", Description: "two\nlines", Subscription: " models-as-a-service/free ", ExpiresIn: json.RawMessage(`"1d"`),
		Labels: map[string]string{"team": "search"},
	})
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	made := time.Date(2026, time.August, 1, 10, 0, 0, 123_456_000, time.UTC)
	want := apikey.NewKey{
		Key: apikey.Key{
			ID: got.Key.ID, Username: "alice", Name: "my key", Description: "two\nlines", Subscription: "free",
			Tenant: apikeytest.Tenant, Groups: []string{"system:authenticated", "team-a"}, Labels: map[string]string{"team": "search"},
			Status: apikey.StatusActive, CreatedAt: made, ExpiresAt: made.Add(day),
		},
		Digest: got.Secret.Digest(),
	}
	stored, _ := w.Store.Stored(got.Key.ID)
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("the stored key (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Key, got.Key); diff != "" {
		t.Errorf("the returned key (-want +got):\n%s", diff)
	}
	if id, err := uuid.Parse(got.Key.ID); err != nil || id.Version() != 4 {
		t.Errorf("the id is %s, %v; want a UUID of version 4", got.Key.ID, err)
	}
}

func TestCreateKeepsNoGroupsAsAnEmptyList(t *testing.T) {
	t.Parallel()
	owned := apikeytest.Subscription("hers", 1)
	owned.Spec.Owner = v1alpha1.Owner{Users: []string{"alice"}}
	w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Subscriptions = apikeytest.Index(owned) })
	got, err := w.Create(t.Context(), apikey.Actor{Username: "alice"}, apikey.CreateRequest{Name: "k"})
	if err != nil || got.Key.Groups == nil || len(got.Key.Groups) != 0 {
		t.Errorf("Create: groups %#v, %v; want an empty list", got.Key.Groups, err)
	}
}

func TestCreateChecksNames(t *testing.T) {
	t.Parallel()
	// E-28, E-29, E-31.
	const (
		blank   = "key name cannot be whitespace only"
		long    = "key name cannot exceed 128 characters"
		control = "key name contains invalid control characters"
	)
	tests := map[string]struct {
		name        string
		ephemeral   bool
		want        string
		wantMessage string
	}{
		"one letter":                      {name: "k", want: "k"},
		"is trimmed":                      {name: "\t my-key \n", want: "my-key"},
		"128 characters":                  {name: strings.Repeat("é", 128), want: strings.Repeat("é", 128)},
		"128 and white space":             {name: " " + strings.Repeat("k", 128) + " ", want: strings.Repeat("k", 128)},
		"any script":                      {name: "ключ مفتاح κλειδί 🔑", want: "ключ مفتاح κλειδί 🔑"},
		"dots and colons":                 {name: "a.b:c", want: "a.b:c"},
		"quotes and more":                 {name: `'; DROP TABLE api_keys; --"\`, want: `'; DROP TABLE api_keys; --"\`},
		"none":                            {wantMessage: "name is required for non-ephemeral keys"},
		"spaces":                          {name: "   ", wantMessage: blank},
		"tabs":                            {name: "\t\t", wantMessage: blank},
		"line breaks":                     {name: "\n\r\n", wantMessage: blank},
		"129 characters":                  {name: strings.Repeat("é", 129), wantMessage: long},
		"a line break inside":             {name: "a\nb", wantMessage: control},
		"a carriage return inside":        {name: "a\rb", wantMessage: control},
		"a tab inside":                    {name: "a\tb", wantMessage: control},
		"a NUL":                           {name: "a\x00b", wantMessage: control},
		"a DEL":                           {name: "a\x7fb", wantMessage: control},
		"bytes that are no text":          {name: "a\xffb", wantMessage: "key name is no valid UTF-8 text"},
		"of an ephemeral key":             {name: "mine", ephemeral: true, want: "mine"},
		"none, of an ephemeral key":       {ephemeral: true, want: "ephemeral-1785578400123456789"},
		"spaces, of an ephemeral key":     {name: "  ", ephemeral: true, wantMessage: blank},
		"characters, of an ephemeral key": {name: "a\tb", ephemeral: true, wantMessage: control},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			got, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: test.name, Ephemeral: test.ephemeral})
			if test.wantMessage == "" {
				if err != nil || got.Key.Name != test.want || got.Key.Ephemeral != test.ephemeral {
					t.Errorf("Create: %q, %v; want %q", got.Key.Name, err, test.want)
				}
				return
			}
			if kind, code, message := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || code != "" || message != test.wantMessage {
				t.Errorf("Create: %v, %q, %q; want %q", kind, code, message, test.wantMessage)
			}
		})
	}
}

func TestCreateChecksDescriptions(t *testing.T) {
	t.Parallel()
	// E-40.
	tests := map[string]struct {
		description, want string
	}{
		"1024 characters":        {strings.Repeat("é", 1024), ""},
		"lines and tabs":         {"a\r\n\tb", ""},
		"1025 characters":        {strings.Repeat("é", 1025), "description cannot exceed 1024 characters"},
		"a NUL":                  {"a\x00b", "description contains invalid control characters: only line breaks and tabs are allowed"},
		"an escape sequence":     {"\x1b[31m", "description contains invalid control characters: only line breaks and tabs are allowed"},
		"bytes that are no text": {"\xff", "description is no valid UTF-8 text"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			got, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k", Description: test.description})
			if test.want == "" {
				if err != nil || got.Key.Description != test.description {
					t.Errorf("Create: %q, %v", got.Key.Description, err)
				}
				return
			}
			if kind, _, message := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || message != test.want {
				t.Errorf("Create: %v, %q; want %q", kind, message, test.want)
			}
		})
	}
}

func TestCreateTakesGroupsThatTheGatewayPasses(t *testing.T) {
	t.Parallel()
	// E-38, E-39.
	for _, group := range []string{"a", "Team-7", "a:b.c_d-e", "/team/a", "system:serviceaccounts:apps"} {
		w := apikeytest.NewWorld(t)
		actor := apikey.Actor{Username: "alice", Groups: []string{apikeytest.Team, group}}
		got, err := w.Create(t.Context(), actor, apikey.CreateRequest{Name: "k"})
		if err != nil {
			t.Errorf("Create with group %q: %v", group, err)
		}
		if diff := cmp.Diff(actor.Groups, got.Key.Groups); diff != "" {
			t.Errorf("the groups (-want +got):\n%s", diff)
		}
	}
}

func TestCreateRefusesOtherGroups(t *testing.T) {
	t.Parallel()
	// E-38.
	for _, character := range `"'\;,[]{}()=$@ ` + "\t\n\x00\xff é" {
		group := "a" + string(character) + "b"
		w := apikeytest.NewWorld(t)
		_, err := w.Create(t.Context(), apikey.Actor{Username: "alice", Groups: []string{apikeytest.Team, group}}, apikey.CreateRequest{Name: "k"})
		kind, code, message := apikeytest.CodeOf(t, err)
		if kind != apikey.KindInvalid || code != apikey.CodeInvalidGroup || strings.Contains(message, group) {
			t.Errorf("Create with group %q: %v, %q, %q", group, kind, code, message)
		}
	}
}

func TestNameOfTheCallerIsBounded(t *testing.T) {
	t.Parallel()
	// The store could not keep longer ones in its indexes.
	for name, tooLong := range map[string]bool{strings.Repeat("é", 512): false, strings.Repeat("é", 513): true} {
		w := apikeytest.NewWorld(t)
		_, created := w.Create(t.Context(), apikeytest.Member(name), apikey.CreateRequest{Name: "k"})
		_, searched := w.Search(t.Context(), apikeytest.Member(name), apikey.SearchRequest{})
		for call, err := range map[string]error{"Create": created, "Search": searched} {
			if !tooLong {
				if err != nil {
					t.Errorf("%s with a name of 512 characters: %v", call, err)
				}
				continue
			}
			if kind, _, message := apikeytest.CodeOf(t, err); kind != apikey.KindInvalid || message != "The name of the caller cannot exceed 512 characters" {
				t.Errorf("%s with a name of 513 characters: %v, %q", call, kind, message)
			}
		}
	}
}

func TestCreateReportsFaultsInTheirOrder(t *testing.T) {
	t.Parallel()
	actor := apikey.Actor{Username: "alice", Groups: []string{"a b"}}
	r := apikey.CreateRequest{
		Description: "\x00", Labels: map[string]string{"": "v"}, ExpiresIn: json.RawMessage("0"), Subscription: "unknown",
	}
	steps := []struct {
		want string
		mend func()
	}{
		{want: "name is required for non-ephemeral keys", mend: func() { r.Name = "\x01k" }},
		{want: "label keys cannot be empty", mend: func() { r.Labels = nil }},
		{want: "key name contains invalid control characters", mend: func() { r.Name = "k" }},
		{want: "description contains invalid control characters: only line breaks and tabs are allowed", mend: func() { r.Description = "" }},
		{want: "A group of the caller cannot be kept in an API key: names of groups must match " + entitlement.SafeGroupPattern, mend: func() { actor = apikeytest.Member("alice") }},
		{want: "expiration must be positive", mend: func() { r.ExpiresIn = nil }},
		{want: "Unable to resolve a subscription for this API key", mend: func() { r.Subscription = "" }},
	}
	w := apikeytest.NewWorld(t)
	for _, step := range steps {
		_, err := w.Create(t.Context(), actor, r)
		if _, _, message := apikeytest.CodeOf(t, err); message != step.want {
			t.Fatalf("Create: %q, want %q", message, step.want)
		}
		step.mend()
	}
	if _, err := w.Create(t.Context(), actor, r); err != nil {
		t.Errorf("Create: %v", err)
	}
}

func TestCreateStopsAtTheQuota(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t, func(o *apikey.Options) { o.MaxKeysPerUser = 2 })
	revoked, expired := w.Key("alice", "revoked", 1), w.Key("alice", "expired", 1)
	revoked.Status, expired.ExpiresAt = apikey.StatusRevoked, w.Clock.Now()
	w.Store.Add(revoked, expired, w.Key("bob", "bobs", 1))
	for i := range 2 {
		if _, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k" + strconv.Itoa(i)}); err != nil {
			t.Fatalf("Create: %v", err)
		}
	}
	_, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "one too many"})
	kind, code, message := apikeytest.CodeOf(t, err)
	if kind != apikey.KindForbidden || code != apikey.CodeKeyLimitReached || !strings.Contains(message, "2 active API keys") {
		t.Errorf("Create: %v, %q, %q", kind, code, message)
	}
}

func TestCreateWithoutAQuotaCountsNothing(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	if _, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k"}); err != nil {
		t.Fatalf("Create: %v", err)
	}
	if got := w.Store.Calls("CountActive"); got != 0 {
		t.Errorf("keys were counted %d times", got)
	}
}

func TestCreateIsCounted(t *testing.T) {
	t.Parallel()
	// E-43.
	tests := map[string]struct {
		fail                       func(string) error
		request                    apikey.CreateRequest
		success, rejected, failure float64
	}{
		"a key":                   {request: apikey.CreateRequest{Name: "k"}, success: 1},
		"a name that is refused":  {request: apikey.CreateRequest{Name: " "}},
		"a label that is refused": {request: apikey.CreateRequest{Name: "k", Labels: map[string]string{"": ""}}},
		"an expiry that is":       {request: apikey.CreateRequest{Name: "k", ExpiresIn: json.RawMessage("0")}, rejected: 1},
		"a subscription that is":  {request: apikey.CreateRequest{Name: "k", Subscription: "unknown"}, rejected: 1},
		"a database that is down": {request: apikey.CreateRequest{Name: "k"}, fail: failing("Insert"), failure: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			w.Store.Fail = test.fail
			_, _ = w.Create(t.Context(), apikeytest.Member("alice"), test.request)
			got := []float64{w.Counter(t, mints, "success"), w.Counter(t, mints, "rejected"), w.Counter(t, mints, "failure")}
			if diff := cmp.Diff([]float64{test.success, test.rejected, test.failure}, got); diff != "" {
				t.Errorf("success, rejected, failure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateTellsNothingOfFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*apikey.Options){
		"the database is down": func(o *apikey.Options) { o.Store.(*apikeytest.Store).Fail = failing("Insert") },
		"keys cannot be counted": func(o *apikey.Options) {
			o.Store.(*apikeytest.Store).Fail, o.MaxKeysPerUser = failing("CountActive"), 1
		},
		"no randomness":        func(o *apikey.Options) { o.Random = strings.NewReader("") },
		"none for the id left": func(o *apikey.Options) { o.Random = strings.NewReader(strings.Repeat("x", 44)) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t, change)
			got, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k"})
			if kind, _, message := apikeytest.CodeOf(t, err); kind != apikey.KindInternal || message != "Failed to create API key" {
				t.Errorf("Create: %v, %q", kind, message)
			}
			if got.Secret.Plaintext() != "" {
				t.Error("a key that was not stored was given out")
			}
		})
	}
}

func TestServiceOfAReplacedTenantMakesNoKeys(t *testing.T) {
	t.Parallel()
	w := apikeytest.NewWorld(t)
	w.Store.Fail = func(string) error { return apikey.ErrTenantReplaced }
	_, err := w.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k"})
	if kind, code, _ := apikeytest.CodeOf(t, err); kind != apikey.KindUnavailable || code != apikey.CodeNotReady || !errors.Is(err, apikey.ErrTenantReplaced) {
		t.Errorf("Create: %v", err)
	}
}

func TestCreateIsAudited(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail    func(string) error
		request apikey.CreateRequest
		want    []apikey.AuditEvent
	}{
		"a key": {
			request: apikey.CreateRequest{Name: "k"},
			want: []apikey.AuditEvent{{
				Action: apikey.ActionCreate, Result: apikey.ResultSuccess, Actor: "alice", Tenant: apikeytest.Tenant,
				TargetSubscription: "premium", Count: 1,
			}},
		},
		"a denied subscription": {
			request: apikey.CreateRequest{Name: "k", Subscription: "secret"},
			want: []apikey.AuditEvent{{
				Action: apikey.ActionCreate, Result: apikey.ResultDenied, Actor: "alice", Tenant: apikeytest.Tenant,
				TargetSubscription: "secret",
			}},
		},
		"a failure": {
			request: apikey.CreateRequest{Name: "k"}, fail: failing("Insert"),
			want: []apikey.AuditEvent{{
				Action: apikey.ActionCreate, Result: apikey.ResultFailed, Actor: "alice", Tenant: apikeytest.Tenant,
			}},
		},
		"a slip of the pen is not": {request: apikey.CreateRequest{Name: "k", ExpiresIn: json.RawMessage("0")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apikeytest.NewWorld(t)
			w.Store.Fail = test.fail
			created, err := w.Create(t.Context(), apikeytest.Member("alice"), test.request)
			ignored := cmpopts.IgnoreFields(apikey.AuditEvent{}, "KeyID")
			if diff := cmp.Diff(test.want, w.Audit.Events(), ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("audited (-want +got):\n%s", diff)
			}
			if err == nil && w.Audit.Events()[0].KeyID != created.Key.ID {
				t.Errorf("the record is about key %q, want %q", w.Audit.Events()[0].KeyID, created.Key.ID)
			}
		})
	}
}
