// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
)

func TestParseGroups(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header  string
		want    []string
		wantErr bool
	}{
		"a JSON array":          {header: `["a","b"]`, want: []string{"a", "b"}},
		"one element":           {header: `["a"]`, want: []string{"a"}},
		"a word in brackets":    {header: `[a]`, want: []string{"a"}},
		"words in brackets":     {header: `[a b c]`, want: []string{"a", "b", "c"}},
		"white space around":    {header: "  [ a  b ]\t", want: []string{"a", "b"}},
		"elements are trimmed":  {header: `[" a ","b "]`, want: []string{"a", "b"}},
		"an order that is kept": {header: `["z","a","z"]`, want: []string{"z", "a", "z"}},
		// Trimmed, these would be another group's name.
		"spaces of Unicode are kept":     {header: `["a\u00a0","\u2003b"]`, want: []string{"a\u00a0", "\u2003b"}},
		"they part no words":             {header: "[a\u2003b]", want: []string{"a\u2003b"}},
		"nobody's groups":                {header: `[]`, want: []string{}},
		"only a blank in brackets":       {header: `[ ]`, want: []string{}},
		"blank elements are dropped":     {header: `["  ",""]`, want: []string{}},
		"nothing":                        {header: ``, wantErr: true},
		"a word":                         {header: `not-valid`, wantErr: true},
		"a list with commas only":        {header: `a,b`, wantErr: true},
		"an array of numbers":            {header: `[1,2]`, wantErr: true},
		"an array with a number":         {header: `["a",2]`, wantErr: true},
		"an object":                      {header: `{"a":"b"}`, wantErr: true},
		"an array in an array":           {header: `[["a"]]`, wantErr: true},
		"a quote that is not closed":     {header: `["a]`, wantErr: true},
		"an opening bracket only":        {header: `[`, wantErr: true},
		"bytes that are no text":         {header: "[\"\xff\"]", wantErr: true},
		"an array with something behind": {header: `["a"] x`, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := httpapi.ParseGroups(tc.header)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error = %v, want one: %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseGroupsDoesNotRepeatTheHeader(t *testing.T) {
	t.Parallel()
	if _, err := httpapi.ParseGroups("secret-group"); err == nil || strings.Contains(err.Error(), "secret-group") {
		t.Errorf("error = %v, want one that does not repeat the value", err)
	}
}

type headers = map[string][]string

func TestIdentity(t *testing.T) {
	t.Parallel()
	const user, group = httpapi.HeaderUsername, httpapi.HeaderGroup
	for name, tc := range map[string]struct {
		headers      headers
		wantStrict   string // The reference of the failure, or the user.
		wantOptional string
	}{
		"both headers":               {headers{user: {"ann"}, group: {`["a"]`}}, "ann [a]", "ann [a]"},
		"the name is trimmed":        {headers{user: {"  ann "}, group: {`["a"]`}}, "ann [a]", "ann [a]"},
		"a user without groups":      {headers{user: {"ann"}, group: {`[]`}}, "ann []", "ann []"},
		"no header":                  {headers{}, "001", "none"},
		"blank headers":              {headers{user: {" "}, group: {" "}}, "001", "none"},
		"only a user":                {headers{user: {"ann"}}, "002", "002"},
		"only groups":                {headers{group: {`["a"]`}}, "001", "001"},
		"a blank user":               {headers{user: {"  "}, group: {`["a"]`}}, "001", "001"},
		"groups that cannot be read": {headers{user: {"ann"}, group: {"a,b"}}, "003", "003"},
		"two users":                  {headers{user: {"ann", "bob"}, group: {`["a"]`}}, "001", "001"},
		"two lists of groups":        {headers{user: {"ann"}, group: {`["a"]`, `["b"]`}}, "003", "003"},
		"a name that is no text":     {headers{user: {"\xff"}, group: {`["a"]`}}, "001", "001"},
		// Trimmed, these would be somebody else's name.
		"a name that ends with a space of Unicode":   {headers{user: {"ann\u00a0"}, group: {`["a"]`}}, "001", "001"},
		"a name that begins with a space of Unicode": {headers{user: {"\u2003ann"}, group: {`["a"]`}}, "001", "001"},
		"a name with a space of Unicode inside":      {headers{user: {"ann\u00a0b"}, group: {`["a"]`}}, "ann\u00a0b [a]", "ann\u00a0b [a]"},
		"a tenant is not believed":                   {headers{user: {"ann"}, group: {`["a"]`}, "X-Maas-Tenant": {"red"}}, "ann [a]", "ann [a]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			say := func(w http.ResponseWriter, i *httpapi.Identity) {
				text := "none"
				if i != nil {
					text = i.Username + " [" + strings.Join(i.Groups, " ") + "]"
				}
				httpapi.WriteJSON(w, http.StatusOK, map[string]string{"refId": text})
			}
			strict := httpapi.Strict(func(w http.ResponseWriter, _ *http.Request, i httpapi.Identity) { say(w, &i) })
			optional := httpapi.Optional(func(w http.ResponseWriter, _ *http.Request, i *httpapi.Identity) { say(w, i) })
			if diff := cmp.Diff([]string{tc.wantStrict, tc.wantOptional}, []string{who(t, strict, tc.headers), who(t, optional, tc.headers)}); diff != "" {
				t.Errorf("strict and optional (-want +got):\n%s", diff)
			}
		})
	}
}

// who returns what the handler said, or the reference of the failure, whose form
// it checks.
func who(t *testing.T, handler http.Handler, h headers) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.Header = h
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	var body struct{ RefID, ExceptionCode, Error string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	isFailure := slices.Contains([]string{"001", "002", "003"}, body.RefID)
	if isFailure != (w.Code == http.StatusInternalServerError) || isFailure != (body.ExceptionCode == "AUTH_FAILURE" && body.Error != "") {
		t.Errorf("answer %d %s mixes success and failure", w.Code, w.Body)
	}
	return body.RefID
}

func TestKeyCaller(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		headers headers
		want    bool
	}{
		"a key":                      {headers{"Authorization": {"Bearer sk-oai-a_b"}}, true},
		"another case of the scheme": {headers{"Authorization": {"bearer sk-oai-a_b"}}, true},
		"more space":                 {headers{"Authorization": {" Bearer   sk-oai-a_b"}}, true},
		"the key's own header":       {headers{"X-Api-Key": {"sk-oai-a_b"}}, true},
		"a key behind a token":       {headers{"Authorization": {"Bearer abc", "Bearer sk-oai-a_b"}}, true},
		"a token and a key":          {headers{"Authorization": {"Bearer abc"}, "X-Api-Key": {"sk-oai-a_b"}}, true},
		"a token":                    {headers{"Authorization": {"Bearer abc"}}, false},
		"a key without a scheme":     {headers{"Authorization": {"sk-oai-a_b"}}, false},
		"another scheme":             {headers{"Authorization": {"Basic sk-oai-a_b"}}, false},
		"no credential":              {headers{}, false},
		"another key":                {headers{"X-Api-Key": {"sk-abc"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := httpapi.KeyCaller(&http.Request{Header: tc.headers}); got != tc.want {
				t.Errorf("KeyCaller = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSubscriptionIsTheLastThatIsNotBlank(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"none":                        {nil, ""},
		"one":                         {[]string{" gold "}, "gold"},
		"the gateway's comes last":    {[]string{"mine", "gold"}, "gold"},
		"a blank one does not count":  {[]string{"gold", " "}, "gold"},
		"nothing but blank ones":      {[]string{"", " "}, ""},
		"a list is one unusual name":  {[]string{"a, b"}, "a, b"},
		"an empty one before the own": {[]string{"", "gold", ""}, "gold"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: http.Header{httpapi.HeaderSubscription: tc.values}}
			if got := httpapi.Subscription(r); got != tc.want {
				t.Errorf("Subscription = %q, want %q", got, tc.want)
			}
		})
	}
}
