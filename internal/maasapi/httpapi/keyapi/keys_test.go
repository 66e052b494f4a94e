// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

const keys = "/v1/api-keys"

func keyPath(name string) string { return keys + "/" + apikeytest.ID(name) }

func TestCreateAnswersWithTheKey(t *testing.T) {
	t.Parallel()
	// E-24, E-30, E-41.
	tests := map[string]struct {
		body, want string
	}{
		"with everything": {
			`{"name":" my-key ","description":"d","subscription":"free","expiresIn":"1d","labels":{"team":"search"},"unknown":1}`,
			`"name":"my-key","subscription":"free","createdAt":"2026-08-01T10:00:00Z","expiresAt":"2026-08-02T10:00:00Z","ephemeral":false,"labels":{"team":"search"}}`,
		},
		"with a name": {
			`{"name":"k"}`,
			`"name":"k","subscription":"premium","createdAt":"2026-08-01T10:00:00Z","expiresAt":"2026-08-31T10:00:00Z","ephemeral":false}`,
		},
		"ephemeral": {
			`{"ephemeral":true,"expiresIn":null,"labels":{}}`,
			`"name":"ephemeral-1785578400123456789","subscription":"premium","createdAt":"2026-08-01T10:00:00Z","expiresAt":"2026-08-01T11:00:00Z","ephemeral":true}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			got := s.call(t, "alice", "POST "+keys, test.body)
			body := decoded[struct{ Key, KeyPrefix, ID string }](t, got)
			stored, _ := s.Store.Stored(body.ID)
			if digest, err := apikey.Parse(body.Key); err != nil || digest != stored.Digest {
				t.Errorf("the key %q is not the stored one: %v", body.Key, err)
			}
			wantAnswer(t, got, http.StatusCreated, fmt.Sprintf(`{"key":%q,"keyPrefix":%q,"id":%q,`, body.Key, body.Key[:19]+"...", body.ID)+test.want)
		})
	}
}

func TestKeysAreShownOnce(t *testing.T) {
	t.Parallel()
	// E-45.
	s := newSite(t)
	created := decoded[map[string]any](t, s.call(t, "alice", "POST "+keys, `{"name":"k"}`))
	text, id := created["key"].(string), created["id"].(string)
	got := s.call(t, "alice", "GET "+keys+"/"+id, "")
	found := s.call(t, "alice", "POST "+keys+"/search", `{}`)
	revoked := s.call(t, "alice", "DELETE "+keys+"/"+id, "")
	for _, body := range []string{got.Body, found.Body, revoked.Body} {
		if !strings.Contains(body, id) || strings.Contains(body, "sk-oai-") || strings.Contains(body, text[7:19]) || strings.Contains(body, `"key`) {
			t.Errorf("the body is %s", body)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	// E-26 to E-42, as far as HTTP is concerned.
	failed := apikeytest.Subscription("failed", 1)
	failed.Status.Phase = v1alpha1.PhaseFailed
	tests := map[string]struct {
		body    string
		headers []string
		status  int
		want    string
	}{
		"no body":           {"", nil, 400, `{"error":"The request body is empty; send a JSON object"}`},
		"no object":         {`[]`, nil, 400, `{"error":"The request body or one of its members has the wrong type"}`},
		"no JSON":           {`{"name":`, nil, 400, `{"error":"The request body is no valid JSON: it ends too early"}`},
		"a name of a kind":  {`{"name":1}`, nil, 400, `{"error":"The member \"name\" of the request body has the wrong type"}`},
		"a label of a kind": {`{"name":"k","labels":{"a":1}}`, nil, 400, `{"error":"The member \"labels\" of the request body has the wrong type"}`},
		"no name":           {`{}`, nil, 400, `{"error":"name is required for non-ephemeral keys"}`},
		"null":              {`null`, nil, 400, `{"error":"name is required for non-ephemeral keys"}`},
		"a NUL":             {`{"name":"k","description":"a\u0000b"}`, nil, 400, `{"error":"The request body has the character NUL in a text"}`},
		"too long a life":   {`{"name":"k","expiresIn":"60d"}`, nil, 400, `{"error":"requested expiration (1440h0m0s) exceeds maximum allowed (30 days): expiration exceeds maximum allowed"}`},
		"a truth for a life": {
			`{"name":"k","expiresIn":true}`, nil, 400,
			`{"error":"invalid duration: expiresIn must be a text like \"90m\", \"12h\" or \"30d\", or a number of seconds"}`,
		},
		"a foreign subscription": {
			`{"name":"k","subscription":"x"}`, nil, 400,
			`{"error":"Unable to resolve a subscription for this API key","code":"invalid_subscription"}`,
		},
		"a failed subscription": {
			`{"name":"k","subscription":"failed"}`, nil, 403,
			`{"error":"subscription is in Failed phase (cannot create API keys)","code":"subscription_not_ready"}`,
		},
		"a group that cannot be passed on": {
			`{"name":"k"}`,
			[]string{"X-MaaS-Group", `["a b"]`},
			400,
			`{"error":"A group of the caller cannot be kept in an API key: names of groups must match ^[A-Za-z0-9:._/-]+$","code":"invalid_group"}`,
		},
		"another subscription than that of the key": {
			`{"name":"k","subscription":"premium"}`,
			[]string{"Authorization", "Bearer sk-oai-a_b", "X-MaaS-Subscription", "free"},
			400,
			`{"error":"Unable to resolve a subscription for this API key","code":"invalid_subscription"}`,
		},
		"a key of somebody else": {
			`{"name":"k"}`,
			[]string{"Authorization", "Bearer sk-oai-a_c", "X-MaaS-Subscription", "free"},
			403,
			`{"error":"The API key of this request is not valid for its caller","code":"invalid_key"}`,
		},
		"text that only looks like a key": {
			`{"name":"k"}`,
			[]string{"Authorization", "Bearer sk-oai-", "X-MaaS-Subscription", "free"},
			403,
			`{"error":"The API key of this request is not valid for its caller","code":"invalid_key"}`,
		},
		"a key without its subscription": {
			`{"name":"k"}`,
			[]string{"X-Api-Key", "sk-oai-a_b"},
			400,
			`{"error":"Unable to resolve a subscription for this API key","code":"invalid_subscription"}`,
		},
		"no user":     {`{"name":"k"}`, []string{"X-MaaS-Username", " "}, 500, `{"error":"The gateway passed no usable identity for this request","exceptionCode":"AUTH_FAILURE","refId":"001"}`},
		"no groups":   {`{"name":"k"}`, []string{"X-MaaS-Group", " "}, 500, `{"error":"The gateway passed no usable identity for this request","exceptionCode":"AUTH_FAILURE","refId":"002"}`},
		"no list":     {`{"name":"k"}`, []string{"X-MaaS-Group", "a,b"}, 500, `{"error":"The gateway passed no usable identity for this request","exceptionCode":"AUTH_FAILURE","refId":"003"}`},
		"a huge body": {`{"name":"` + strings.Repeat("k", 1<<20) + `"}`, nil, 413, `{"error":"The request body is larger than 1048576 bytes"}`},
		"a deep body": {`{"labels":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, nil, 400, `{"error":"The request body nests deeper than 32 levels"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(o *apikey.Options) {
				o.Subscriptions = apikeytest.Index(apikeytest.Subscription("free", 1), apikeytest.Subscription("premium", 9), failed)
			})
			s.Held.Hold(t, "sk-oai-a_b", "alice", 0)
			s.Held.Hold(t, "sk-oai-a_c", "bob", 0)
			got := s.call(t, "alice", "POST "+keys, test.body, test.headers...)
			wantAnswer(t, got, test.status, test.want)
			if s.Store.Calls("Insert") != 0 {
				t.Error("a key was stored nevertheless")
			}
		})
	}
}

func TestKeysMakeKeysOfTheirSubscription(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Held.Hold(t, "sk-oai-a_b", "alice", 0)
	got := s.call(t, "alice", "POST "+keys, `{"name":"k"}`, "Authorization", "Bearer sk-oai-a_b", "X-MaaS-Subscription", "free")
	if body := decoded[map[string]any](t, got); got.Status != http.StatusCreated || body["subscription"] != "free" {
		t.Errorf("the answer is %+v", got)
	}
}

func TestQuotaIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *apikey.Options) { o.MaxKeysPerUser = 1 })
	s.Store.Add(s.Key("alice", "first", 1))
	wantAnswer(t, s.call(t, "alice", "POST "+keys, `{"name":"k"}`), http.StatusForbidden,
		`{"error":"A user may have 1 active API keys at a time: revoke some, or wait until they expire","code":"key_limit_reached"}`)
}

func TestFailuresAreToldWithoutTheirCause(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path, body, want string
		job                      bool
	}{
		"create":      {"POST", keys, `{"name":"k"}`, `{"error":"Failed to create API key"}`, false},
		"get":         {"GET", keyPath("key"), "", `{"error":"Failed to retrieve API key"}`, false},
		"revoke":      {"DELETE", keyPath("key"), "", `{"error":"Failed to retrieve API key"}`, false},
		"search":      {"POST", keys + "/search", "", `{"error":"Failed to search API keys"}`, false},
		"bulk revoke": {"POST", keys + "/bulk-revoke", `{"username":"alice"}`, `{"error":"Failed to revoke API keys"}`, false},
		"dry run":     {"POST", keys + "/bulk-revoke", `{"username":"alice","dryRun":true}`, `{"error":"Failed to perform dry-run"}`, false},
		"cleanup":     {http.MethodPost, "/internal/v1/api-keys/cleanup", "", `{"error":"Failed to cleanup expired ephemeral keys"}`, true},
		"tenant":      {http.MethodDelete, "/internal/v1/tenants/" + apikeytest.Tenant + "/api-keys", "", `{"error":"Failed to revoke tenant API keys"}`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Store.Fail = func(string) error { return errors.New("dial tcp 10.0.0.1:5432: password=secret") }
			user := "alice"
			if test.job {
				user = "" // Who comes through the gateway finds no calls of jobs.
			}
			wantAnswer(t, s.call(t, user, test.method+" "+test.path, test.body), http.StatusInternalServerError, test.want)
		})
	}
}

func TestUnavailableServiceSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *apikey.Options) { o.Subscriptions = nil })
	wantAnswer(t, s.call(t, "alice", "POST "+keys, `{"name":"k"}`), http.StatusServiceUnavailable,
		`{"error":"The subscriptions are not loaded yet: try again in a moment","code":"not_ready"}`)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	wantAnswer(t, newSite(t).call(t, "alice", "GET "+keys+"/config", ""), http.StatusOK,
		`{"max_expiration_days":30,"ephemeral_max_expiration":"1h0m0s"}`)
}

// whole is a key of which everything is known.
func whole(s site) apikey.Key {
	k := s.Key("alice", "key", 1)
	k.Description, k.Labels, k.LastUsedAt = "d", map[string]string{"team": "search"}, s.Clock.Now().In(time.FixedZone("", 7200))
	k.CreatedAt = k.CreatedAt.In(time.FixedZone("", -3600))
	return k
}

const wholeBody = `"name":"key","description":"d","username":"alice","subscription":"free","tenant":"models-as-a-service","groups":["team-a"],` +
	`"creationDate":"2026-08-01T09:00:00Z","expirationDate":"2026-08-08T10:00:00Z","status":"active","lastUsedAt":"2026-08-01T10:00:00Z",` +
	`"ephemeral":false,"labels":{"team":"search"}}`

func wholeOf(status string) string {
	return `{"id":"` + apikeytest.ID("key") + `",` + strings.Replace(wholeBody, `"active"`, `"`+status+`"`, 1)
}

func TestGet(t *testing.T) {
	t.Parallel()
	// E-46, E-52.
	s := newSite(t)
	s.Admins.Names = []string{"admin"}
	scant := s.Key("alice", "scant", 1)
	scant.Groups, scant.ExpiresAt, scant.Ephemeral = nil, time.Time{}, true
	s.Store.Add(whole(s), scant)
	wantAnswer(t, s.call(t, "alice", "GET "+keyPath("key"), ""), http.StatusOK, wholeOf("active"))
	wantAnswer(t, s.call(t, "admin", "GET "+keyPath("key"), ""), http.StatusOK, wholeOf("active"))
	wantAnswer(t, s.call(t, "alice", "GET "+keyPath("scant"), ""), http.StatusOK, `{"id":"`+scant.ID+`","name":"scant","username":"alice",`+
		`"subscription":"free","tenant":"models-as-a-service","groups":[],"creationDate":"2026-08-01T09:00:00Z","status":"active","ephemeral":true}`)
	const missing = `{"error":"API key not found"}`
	for _, path := range []string{keyPath("other"), keys + "/search", keys + "/%00", keys + "/%FF", keys + "/" + strings.Repeat("a", 5000)} {
		wantAnswer(t, s.call(t, "alice", "GET "+path, ""), http.StatusNotFound, missing)
	}
	wantAnswer(t, s.call(t, "mallory", "GET "+keyPath("key"), ""), http.StatusNotFound, missing)
	s.Admins.Err = errors.New("down")
	wantAnswer(t, s.call(t, "mallory", "GET "+keyPath("key"), ""), http.StatusInternalServerError, `{"error":"Failed to check authorization"}`)
	s.Clock.Step(7 * 24 * time.Hour)
	wantAnswer(t, s.call(t, "alice", "GET "+keyPath("key"), ""), http.StatusOK, wholeOf("expired"))
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	// E-49.
	s := newSite(t)
	s.Store.Add(whole(s))
	const missing = `{"error":"API key not found"}`
	wantAnswer(t, s.call(t, "mallory", "DELETE "+keyPath("key"), ""), http.StatusNotFound, missing)
	wantAnswer(t, s.call(t, "alice", "DELETE "+keyPath("key"), ""), http.StatusOK, wholeOf("revoked"))
	wantAnswer(t, s.call(t, "alice", "DELETE "+keyPath("key"), ""), http.StatusNotFound, missing)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	// E-53, E-54, E-60, E-62, E-63.
	const empty = `{"object":"list","data":[],"has_more":false}`
	tests := map[string]struct {
		user, body string
		headers    []string
		status     int
		want       string
	}{
		"nobody sees nothing":       {"", `{}`, nil, 200, empty},
		"whatever nobody sends":     {"", `garbage`, []string{"Authorization", "Bearer x"}, 200, empty},
		"no body is no filter":      {"alice", "", nil, 200, `{"object":"list","data":[` + wholeOf("active") + `],"has_more":false}`},
		"nor is white space":        {"alice", " \n", nil, 200, `{"object":"list","data":[` + wholeOf("active") + `],"has_more":false}`},
		"nor are empty members":     {"alice", `{"filters":null,"sort":null,"pagination":null}`, nil, 200, `{"object":"list","data":[` + wholeOf("active") + `],"has_more":false}`},
		"no keys are an empty list": {"bob", `{}`, nil, 200, empty},
		"all filters are read": {
			"alice", `{"filters":{"username":"alice","status":["active"],"subscription":"free","includeEphemeral":true,"labelsContain":{"team":"search"},` +
				`"createdAfter":"2026-08-01T00:00:00Z","createdBefore":"2026-08-02T00:00:00Z","expiresAfter":"2026-08-02T00:00:00Z","expiresBefore":"2026-09-01T00:00:00Z",` +
				`"lastUsedAfter":"2026-08-01T00:00:00Z","nameContains":"k","descriptionContains":"D","hasExpiration":true,"hasBeenUsed":true},` +
				`"sort":{"by":"name","order":"asc"},"pagination":{"limit":1,"offset":0}}`, nil,
			200, `{"object":"list","data":[` + wholeOf("active") + `],"has_more":false}`,
		},
		"a page without a limit":       {"alice", `{"pagination":{"offset":10}}`, nil, 400, `{"error":"pagination.limit must be at least 1"}`},
		"a limit that is no number":    {"alice", `{"pagination":{"limit":"1"}}`, nil, 400, `{"error":"The member \"pagination.limit\" of the request body has the wrong type"}`},
		"a limit beyond all numbers":   {"alice", `{"pagination":{"limit":1e99}}`, nil, 400, `{"error":"The member \"pagination.limit\" of the request body has the wrong type"}`},
		"a field that nobody sorts by": {"alice", `{"sort":{"by":"name; drop"}}`, nil, 400, `{"error":"invalid sort.by: must be one of: created_at, expires_at, last_used_at, name"}`},
		"somebody else":                {"alice", `{"filters":{"username":"bob"}}`, nil, 403, `{"error":"non-admin users can only search their own API keys"}`},
		"a foreign cursor": {
			"alice", `{"pagination":{"cursor":"abc"}}`, nil, 400,
			`{"error":"invalid pagination.cursor: it must be the next_cursor of the page before, with the same filters and sorting","code":"invalid_cursor"}`,
		},
		"a list for a body": {"alice", `[]`, nil, 400, `{"error":"The request body or one of its members has the wrong type"}`},
		"a NUL":             {"alice", `{"filters":{"nameContains":"\u0000"}}`, nil, 400, `{"error":"The request body has the character NUL in a text"}`},
		"half an identity":  {"", `{}`, []string{"X-MaaS-Username", "alice"}, 500, `{"error":"The gateway passed no usable identity for this request","exceptionCode":"AUTH_FAILURE","refId":"002"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Store.Add(whole(s))
			wantAnswer(t, s.call(t, test.user, "POST "+keys+"/search", test.body, test.headers...), test.status, test.want)
		})
	}
}

func TestPagesAreTurnedWithTheCursor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 5 {
		s.Store.Add(s.Key("alice", fmt.Sprint("key-", i), i))
	}
	type page struct {
		Data       []struct{ Name string }
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
	}
	var seen []string
	body := `{"pagination":{"limit":2}}`
	for range 3 {
		got := decoded[page](t, s.call(t, "alice", "POST "+keys+"/search", body))
		for _, k := range got.Data {
			seen = append(seen, k.Name)
		}
		if got.HasMore != (got.NextCursor != "") {
			t.Errorf("has_more is %v and next_cursor %q", got.HasMore, got.NextCursor)
		}
		cursor, err := json.Marshal(got.NextCursor)
		if err != nil {
			t.Fatal(err)
		}
		body = `{"pagination":{"limit":2,"cursor":` + string(cursor) + `}}`
	}
	if got := strings.Join(seen, " "); got != "key-0 key-1 key-2 key-3 key-4" {
		t.Errorf("the pages show %s", got)
	}
}

// FuzzSearch sends any body: no client makes the service fail, and nobody sees
// keys of others.
func FuzzSearch(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{"filters":{"status":["active"],"labelsContain":{"a":"b"},"createdAfter":"2026-08-01T00:00:00Z","hasBeenUsed":false}}`)
	f.Add(`{"sort":{"by":"name","order":"asc"},"pagination":{"limit":1,"offset":2,"cursor":"x"}}`)
	f.Add(`{"filters":{"nameContains":"\ud800\u0000"}}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, body string) {
		s := newSite(t)
		s.Store.Add(s.Key("alice", "mine", 1), s.Key("bob", "theirs", 1))
		got := s.call(t, "alice", "POST "+keys+"/search", body)
		if got.Status != http.StatusOK && got.Status != http.StatusBadRequest && got.Status != http.StatusForbidden {
			t.Errorf("the answer is %+v", got)
		}
		if strings.Contains(got.Body, "theirs") {
			t.Errorf("keys of others are shown: %s", got.Body)
		}
	})
}

// FuzzCreate sends any body: no client makes the service fail, and what is
// stored keeps the rules.
func FuzzCreate(f *testing.F) {
	f.Add(`{"name":"k","expiresIn":"30d","labels":{"a":"b"}}`)
	f.Add(`{"ephemeral":true,"expiresIn":1e300}`)
	f.Add(`{"name":"\ud800","description":"\u0000","subscription":"a/b"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		s := newSite(t)
		got := s.call(t, "alice", "POST "+keys, body)
		if got.Status != http.StatusCreated && got.Status != http.StatusBadRequest {
			t.Errorf("the answer is %+v", got)
		}
		if inserted := s.Store.Calls("Insert"); (inserted == 1) != (got.Status == http.StatusCreated) {
			t.Errorf("the answer is %+v after %d keys were stored", got, inserted)
		}
	})
}
