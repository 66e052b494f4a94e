// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

// What was read is never empty, never broken text, and has no white space of HTTP
// at an end. Other white space belongs to the name of a group: taking it off would
// take one group for another.
func FuzzParseGroups(f *testing.F) {
	for _, seed := range []string{`["a","b"]`, `[a b c]`, `[]`, `["  ",""]`, `not-valid`, `[a,b]`, `["\u0000"]`, `[[]]`, "[\"\xff\"]", `["a"`, `[null]`, `["\u2000"]`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		groups, err := httpapi.ParseGroups(header)
		if err != nil {
			if groups != nil {
				t.Errorf("groups %q beside the error %v", groups, err)
			}
			return
		}
		for _, group := range groups {
			if group == "" || group != strings.Trim(group, " \t\r\n") || !utf8.ValidString(group) {
				t.Errorf("group %q", group)
			}
		}
	})
}

// Whatever comes in, what goes out is a safe id.
func FuzzRequestID(f *testing.F) {
	for _, seed := range []string{"", "a", "a b", "a\nb", "<script>", "😀", strings.Repeat("a", 128), strings.Repeat("a", 129)} {
		f.Add(seed)
	}
	h := newHarness(f, nil)
	f.Fuzz(func(t *testing.T, id string) {
		h.log.Reset()
		r := request(http.MethodGet, "/", http.NoBody)
		r.Header["X-Request-Id"] = []string{id}
		got := h.do(r).Header().Get("X-Request-Id")
		if got != madeID && got != id {
			t.Errorf("%q became %q", id, got)
		}
		if got == "" || len(got) > 128 || strings.Trim(got, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
			t.Errorf("%q is echoed", got)
		}
	})
}

// No body makes anything but an error that may be shown.
func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"a":1}`, `{"a":{"b":[1,"\u0000"]}}`, strings.Repeat("[", 40), `{"name":1}`, "\xff", `{"a":"\\u0000"}`, `nul`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var into struct {
			Name string         `json:"name"`
			A    map[string]any `json:"a"`
		}
		err := httpapi.DecodeJSON(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(body)), &into)
		var decode *httpapi.DecodeError
		if err != nil && !errors.Is(err, httpapi.ErrEmpty) && !errors.As(err, &decode) {
			t.Errorf("error %v", err)
		}
		if err == nil && strings.ContainsRune(into.Name, 0) {
			t.Errorf("NUL in %q", into.Name)
		}
	})
}

// However a path is written, an internal route is not found through a gateway.
func FuzzInternalPath(f *testing.F) {
	for _, seed := range oddPaths() {
		f.Add(seed)
	}
	h := newHarness(f, serviceRoutes())
	f.Fuzz(func(t *testing.T, target string) {
		h.log.Reset()
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+target, http.NoBody)
		if err != nil {
			return
		}
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		w := h.do(r)
		if strings.Contains(strings.ToLower(r.URL.Path), "internal") && w.Code == http.StatusOK {
			t.Errorf("%s is answered %d", target, w.Code)
		}
	})
}
