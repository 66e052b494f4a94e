// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

func TestValidKeySaysWhoseItIs(t *testing.T) {
	t.Parallel()
	const all = `{"valid":true,"userId":"` + goodID + `","username":"alice","keyId":"` + goodID + `","keyName":"my \"key\"",` +
		`"groups":["system:authenticated","team-a"],"subscription":"free","tenant":"models-as-a-service","expiresAt":"2026-08-01T11:00:00Z"}`
	for name, c := range map[string]struct {
		change func(*apikey.Record)
		want   string
	}{
		"all members (E-7)": {nil, all},
		"no groups are an empty array (E-14)": {
			func(r *apikey.Record) { r.Groups = nil },
			strings.Replace(all, `["system:authenticated","team-a"]`, `[]`, 1),
		},
		"no expiry is no member": {
			func(r *apikey.Record) { r.ExpiresAt = time.Time{} },
			strings.Replace(all, `,"expiresAt":"2026-08-01T11:00:00Z"`, ``, 1),
		},
		"fractions of a second are cut off": {
			func(r *apikey.Record) {
				r.ExpiresAt = r.ExpiresAt.Add(900 * time.Millisecond).In(time.FixedZone("", 7200))
			}, all,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.change)
			w := f.post(body(goodKey))
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("status %d, content type %q", w.Code, w.Header().Get("Content-Type"))
			}
			if diff := cmp.Diff(c.want, w.Body.String()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{goodID}, f.usage.ids); diff != "" {
				t.Errorf("uses noted (-want +got):\n%s", diff)
			}
			f.wantCounts(t, 1, 0, 0)
		})
	}
}

func TestEmptyTenantIsToldAsSuch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.tenant = appendText(nil, "")
	if got := f.post(body(goodKey)).Body.String(); !strings.Contains(got, `"tenant":""`) {
		t.Errorf("answer: %s (E-16)", got)
	}
}

func TestRefusedKeySaysWhyAndNothingElse(t *testing.T) {
	t.Parallel()
	ended := func(r *apikey.Record) { r.ExpiresAt = now.Add(-24 * time.Hour) }
	for name, c := range map[string]struct {
		key       string
		change    func(*apikey.Record)
		want      apikey.Reason
		wantAsked int64
	}{
		"no key of ours (E-8)":                {"invalid-key", nil, apikey.ReasonFormat, 0},
		"short (E-8)":                         {"maas_short", nil, apikey.ReasonFormat, 0},
		"white space around it":               {" " + goodKey, nil, apikey.ReasonFormat, 0},
		"endless":                             {apikey.Prefix + "a_" + strings.Repeat("b", 3000), nil, apikey.ReasonFormat, 0},
		"unknown (E-9, E-17)":                 {goodKey + "x", nil, apikey.ReasonNotFound, 1},
		"revoked (E-10)":                      {goodKey, func(r *apikey.Record) { r.Status = apikey.StatusRevoked }, apikey.ReasonRevokedOrExpired, 1},
		"expired, still stored as active":     {goodKey, ended, apikey.ReasonRevokedOrExpired, 1},
		"expires now":                         {goodKey, func(r *apikey.Record) { r.ExpiresAt = now }, apikey.ReasonRevokedOrExpired, 1},
		"bound to no subscription (E-13)":     {goodKey, func(r *apikey.Record) { r.Subscription = "" }, apikey.ReasonNoSubscription, 1},
		"an end goes before the subscription": {goodKey, func(r *apikey.Record) { ended(r); r.Subscription = "" }, apikey.ReasonRevokedOrExpired, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.change)
			w := f.post(body(c.key))
			want := `{"valid":false,"tenant":"","reason":"` + string(c.want) + `"}`
			if w.Code != http.StatusOK || w.Body.String() != want {
				t.Errorf("answer: %d %s, want %s", w.Code, w.Body, want)
			}
			if got := f.keys.asked.Load(); got != c.wantAsked {
				t.Errorf("keys were asked for %d times, want %d", got, c.wantAsked)
			}
			if len(f.usage.ids) != 0 {
				t.Error("the use of a refused key is noted")
			}
			f.wantCounts(t, 0, 1, 0)
		})
	}
}

func TestRequestWithoutAKeyIsRefused(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"empty object (E-12)": `{}`,
		"empty body (E-12)":   ``,
		"blank key (E-12)":    `{"key":" \t "}`,
		"empty key":           `{"key":""}`,
		"null":                `{"key":null}`,
		"number":              `{"key":1}`,
		"object":              `{"key":{"key":"` + goodKey + `"}}`,
		"array":               `["key","` + goodKey + `"]`,
		"text":                `"` + goodKey + `"`,
		"not closed":          `{"key":"` + goodKey + `"`,
		"two values":          body(goodKey) + body(goodKey),
		"no JSON":             "key=" + goodKey,
		"nested":              strings.Repeat(`{"key":`, 500) + `"` + goodKey + `"` + strings.Repeat(`}`, 500),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			w := f.post(sent)
			if w.Code != http.StatusBadRequest || w.Body.String() != `{"error":"key is required"}` {
				t.Errorf("answer: %d %s", w.Code, w.Body)
			}
			f.wantCounts(t, 0, 0, 0)
		})
	}
}

func TestBodyThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	w := httptest.NewRecorder()
	f.ServeHTTP(w, post(t.Context(), io.MultiReader(strings.NewReader(body(goodKey)), broken{})))
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestBodyAboveTheBoundIsTooLarge(t *testing.T) {
	t.Parallel()
	padded := func(size int) string { return body(goodKey) + strings.Repeat(" ", size-len(body(goodKey))) }
	for name, c := range map[string]struct {
		size, want int
	}{
		"at the bound":    {MaxValidateBody, http.StatusOK},
		"one byte more":   {MaxValidateBody + 1, http.StatusRequestEntityTooLarge},
		"very much above": {1 << 20, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			if w := f.post(padded(c.size)); w.Code != c.want {
				t.Errorf("status %d, want %d", w.Code, c.want)
			}
			// The server's own bound gives the same answer.
			w := httptest.NewRecorder()
			r := post(t.Context(), http.NoBody)
			r.Body = http.MaxBytesReader(w, io.NopCloser(strings.NewReader(padded(c.size))), MaxValidateBody)
			if f.ServeHTTP(w, r); w.Code != c.want {
				t.Errorf("behind a bound: status %d, want %d", w.Code, c.want)
			}
		})
	}
}

func TestTroubleOfOursIsAnErrorAndNoVerdict(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"database gone for too long (E-23)": keyindex.ErrUnavailable,
		"too many unknown keys":             keyindex.ErrBusy,
		"anything else":                     errors.New("password authentication failed for user postgres"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.keys.records, f.keys.err = nil, err
			w := f.post(body(goodKey))
			if w.Code != http.StatusInternalServerError || w.Body.String() != `{"error":"validation failed"}` {
				t.Errorf("answer: %d %s", w.Code, w.Body)
			}
			f.wantCounts(t, 0, 0, 1)
		})
	}
}

func TestKeyWhoseIDIsNoUUIDIsAFault(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(r *apikey.Record) { r.ID = "42" })
	if w := f.post(body(goodKey)); w.Code != http.StatusInternalServerError {
		t.Errorf("answer: %d %s (E-15)", w.Code, w.Body)
	}
	if len(f.usage.ids) != 0 {
		t.Error("the use is noted")
	}
	f.wantCounts(t, 0, 0, 1)
}

// (E-22).
func TestEveryResultIsCountedForTheTenant(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.post(body(goodKey))
	f.post(body("nonsense"))
	f.keys.err = keyindex.ErrBusy
	f.post(body(goodKey + "x"))
	if err := testutil.GatherAndCompare(f.registry, strings.NewReader(`
# HELP maas_api_key_validation_total Validations of API keys, by tenant and result. Requests without a key are not counted.
# TYPE maas_api_key_validation_total counter
maas_api_key_validation_total{result="error",tenant_name="models-as-a-service"} 1
maas_api_key_validation_total{result="invalid",tenant_name="models-as-a-service"} 1
maas_api_key_validation_total{result="valid",tenant_name="models-as-a-service"} 1
`)); err != nil {
		t.Error(err)
	}
}

// Mode 13 of caches of keys: the memory of a request held the text of a key.
func TestTextOfAKeyIsWipedFromMemoryThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	b := &buffer{}
	f.buffers = sync.Pool{New: func() any { return b }}
	for _, key := range []string{goodKey, goodKey + "unknown", "nonsense"} {
		f.post(body(key))
		if i := bytes.IndexFunc(b.body[:], func(r rune) bool { return r != 0 }); i >= 0 {
			t.Errorf("after %q, byte %d is not wiped", key, i)
		}
		if bytes.Contains(b.reply[:cap(b.reply)], []byte("sk-oai")) {
			t.Error("the answer holds a key")
		}
	}
}

func TestRequestsAtTheSameTimeDoNotMixUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want := f.post(body(goodKey)).Body.String()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 200 {
				w := httptest.NewRecorder()
				key := goodKey
				if i%2 == 1 {
					key = goodKey + "x"
				}
				f.ServeHTTP(w, post(t.Context(), strings.NewReader(body(key))))
				if (i%2 == 0) != (w.Body.String() == want) {
					t.Errorf("answer for %s: %s", key, w.Body)
				}
			}
		})
	}
	group.Wait()
}

func TestTextsAreEscapedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain", `"\/`, "\x00\x01\b\f\n\r\t\x1f\x7f", "<script>&", "äöü 日本 🙂", "\u2028\u2029", "\xff\xfe", "a\xc3", "\ufffd",
	} {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var wanted, got string
		if json.Unmarshal(want, &wanted) != nil || json.Unmarshal(appendText(nil, text), &got) != nil || got != wanted {
			t.Errorf("%q is written %s", text, appendText(nil, text))
		}
	}
}

// FuzzValidateBody compares the decoder with encoding/json.
func FuzzValidateBody(f *testing.F) {
	for _, seed := range []string{
		body(goodKey), `{}`, ``, ` { "a" : [ {"b":"]}"} , 1.5e-3 ] , "KEY":"x" , "key" : "\u0073k\ud83d\ude42\ud83dx\\\"" } `,
		`{"key":null}`, `{"key":true,"key":"a"}`, `{"\u006bey":"a"}`, `{"key":"a","key":null}`, `{"k":-0,"key":"\ude00"}`, `[{"key":"a"}]`,
		`{"K\u212aey":"a","\u212aey":"b"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if len(sent) > MaxValidateBody {
			return
		}
		var want struct {
			Key string `json:"key"`
		}
		err := json.Unmarshal(sent, &want)
		if trimmed := bytes.TrimLeft(sent, " \t\r\n"); len(trimmed) > 0 && trimmed[0] != '{' && err == nil {
			err = errors.New("not an object") // Null.
		}
		got, ok := keyOf(bytes.Clone(sent))
		if ok != (err == nil) {
			t.Fatalf("decoded: %v, encoding/json: %v", ok, err)
		}
		if ok && strings.ToValidUTF8(string(got), "\ufffd") != strings.ToValidUTF8(want.Key, "\ufffd") && json.Valid(sent) && validUTF8(sent) {
			t.Fatalf("key = %q, want %q", got, want.Key)
		}
	})
}

func validUTF8(text []byte) bool { return bytes.Equal(bytes.ToValidUTF8(text, nil), text) }
