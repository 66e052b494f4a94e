// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
)

func TestNamesThatAHeaderWouldChange(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"bob": true, "bob smith": true, "O'Hara \"x\"": true, `DOMAIN\alice`: true, "系统": true, "a\u00a0b": true,
		"bob ": false, " bob": false, "bob\t": false, "\tbob": false, "bob\n": false, "bo\nb": false, "bo\x00b": false, "bo\x7fb": false, "bo\u0085b": false,
		"bob\u00a0": false, "\u2003bob": false, "bob\u2028": false, "bob\u3000": false, "  ": false,
	}
	g := service(t, input())
	for name, passes := range tests {
		for caller, request := range map[string]enforced.Request{
			"key": byKey(with(keyReply(), "username", name)), "JWT": byJWT(with(claims(), "preferred_username", name)), "token": byToken(name),
		} {
			if got := g.Serve(request); (got.Status == 200) != passes {
				t.Errorf("%s of %q: status = %d, want it to pass: %t", caller, name, got.Status, passes)
			}
		}
	}
	noFailures(t, g)
}

// TestNamesArriveAsTheyAre sends names that pass in a header, as the gateway would,
// to a real server.
func TestNamesArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	arrived := make(chan []string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Header["X-Maas-Username"]
	}))
	t.Cleanup(server.Close)
	g := service(t, input())
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.OneOf(rendertest.Text(), rapid.StringN(0, 8, -1), rapid.StringMatching(`[ \t\x{a0}]?[a-z ]{0,4}[ \t\x{2028}]?`)).Draw(rt, "name")
		name = strings.ToValidUTF8(name, "")
		a := g.Serve(byToken(name))
		if a.Status != 200 {
			return
		}
		send(rt, server.URL, a.Headers["x-maas-username"].(string))
		if diff := cmp.Diff([]string{name}, <-arrived); diff != "" {
			rt.Fatalf("name (-want +got):\n%s", diff)
		}
		if name == "" || name != strings.TrimSpace(name) {
			rt.Fatalf("name %q passes", name)
		}
	})
}

func send(rt *rapid.T, url, username string) {
	request, err := http.NewRequestWithContext(rt.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		rt.Fatalf("make request: %v", err)
	}
	request.Header.Set("X-MaaS-Username", username)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		rt.Fatalf("send name %q: %v", username, err)
	}
	if err := response.Body.Close(); err != nil {
		rt.Fatalf("end of reply: %v", err)
	}
}
