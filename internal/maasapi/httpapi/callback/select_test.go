// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callback

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/subscription"
)

const selectTenant = "models-as-a-service"

type source struct{ snapshot *subscription.Snapshot }

func (s source) Snapshot() *subscription.Snapshot { return s.snapshot }

// selectSource has subscription gold of group team and user bob on model
// llm/granite, which an auth policy lets group team use.
func selectSource() source {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: "granite"}}
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: selectTenant, Name: "gold"}}
	s.Spec.Owner = v1alpha1.Owner{Users: []string{"bob"}, Groups: []v1alpha1.GroupReference{{Name: "team"}}}
	s.Spec.ModelRefs = []v1alpha1.ModelSubscription{{Namespace: "llm", Name: "granite", Unlimited: true}}
	s.Status.Phase, s.Status.RateLimitIdentity = v1alpha1.PhaseActive, v1alpha1.RateLimitIdentityShort
	p := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: selectTenant, Name: "readers"}}
	p.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: "team"}}
	p.Spec.ModelRefs = []v1alpha1.ModelReference{{Namespace: "llm", Name: "granite"}}
	return source{subscription.NewSnapshot(selectTenant, entitlement.Facts{
		Models:        []entitlement.Tenanted[*v1alpha1.MaaSModelRef]{{Object: m, Tenant: selectTenant}},
		Subscriptions: []entitlement.Tenanted[*v1alpha1.MaaSSubscription]{{Object: s, Tenant: selectTenant}},
		AuthPolicies:  []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{{Object: p, Tenant: selectTenant}},
	}, time.Unix(0, 0))}
}

func newSelect(tb testing.TB, s subscription.Source) (*Select, *prometheus.Registry) {
	tb.Helper()
	registry := prometheus.NewRegistry()
	handler, err := NewSelect(s, registry)
	if err != nil {
		tb.Fatal(err)
	}
	return handler, registry
}

// ask sends a body to the route and returns the status and the reply.
func ask(tb testing.TB, s *Select, body io.Reader) (int, map[string]any) {
	tb.Helper()
	w := httptest.NewRecorder()
	s.Routes()[0].Handler.ServeHTTP(w, httptest.NewRequestWithContext(tb.Context(), http.MethodPost, SelectPath, body))
	var reply map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		tb.Fatalf("%s: %v", w.Body, err)
	}
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		tb.Errorf("Content-Type %q", got)
	}
	return w.Code, reply
}

func TestSelectAnswersWithStatus200WhateverTheDecision(t *testing.T) {
	t.Parallel()
	handler, _ := newSelect(t, selectSource())
	for name, test := range map[string]struct {
		body, wantName, wantError string
		wantAllowed               bool
	}{
		"a group's subscription":            {body: `{"groups":["team"],"username":"alice","requestedModel":"llm/granite"}`, wantName: "gold", wantAllowed: true},
		"a user's, without groups":          {body: `{"username":"bob","groups":[],"requestedModel":"granite"}`, wantName: "gold"},
		"a user's, without a list":          {body: `{"username":"bob"}`, wantName: "gold", wantAllowed: true},
		"an explicit one":                   {body: `{"username":"bob","groups":null,"requestedSubscription":"models-as-a-service/gold"}`, wantName: "gold", wantAllowed: true},
		"somebody else's":                   {body: `{"username":"eve","requestedSubscription":"gold"}`, wantError: "access_denied"},
		"none":                              {body: `{"username":"eve","groups":["other"]}`, wantError: "not_found"},
		"no user":                           {body: `{"groups":["team"]}`, wantError: "bad_request"},
		"an empty user":                     {body: `{"groups":["team"],"username":""}`, wantError: "bad_request"},
		"no body":                           {body: ``, wantError: "bad_request"},
		"no JSON":                           {body: `username=bob`, wantError: "bad_request"},
		"a list":                            {body: `["bob"]`, wantError: "bad_request"},
		"a group outside the character set": {body: `{"username":"eve","groups":["team,other","team "]}`, wantError: "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, reply := ask(t, handler, strings.NewReader(test.body))
			got := fmt.Sprint(reply["name"], reply["error"], reply["accessAllowed"])
			want := fmt.Sprint(orNil(test.wantName), orNil(test.wantError), test.wantAllowed)
			if status != http.StatusOK || got != want {
				t.Errorf("status %d, reply %v, want %s", status, reply, want)
			}
		})
	}
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func TestSelectGrantsNothingWithoutASnapshot(t *testing.T) {
	t.Parallel()
	handler, _ := newSelect(t, source{})
	status, reply := ask(t, handler, strings.NewReader(`{"username":"bob"}`))
	want := map[string]any{
		"error": "internal_error", "message": subscription.ErrUnavailable.Error(), "accessAllowed": false, "phase": "", "ready": false,
	}
	if diff := cmp.Diff(want, reply); status != http.StatusOK || diff != "" {
		t.Errorf("status %d, reply (-want +got):\n%s", status, diff)
	}
}

func TestSelectRefusesABodyThatIsTooLarge(t *testing.T) {
	t.Parallel()
	handler, _ := newSelect(t, selectSource())
	frame := len(`{"username":"bob","x":""}`)
	fits := `{"username":"bob","x":"` + strings.Repeat("x", MaxSelectBody-frame) + `"}`
	if status, reply := ask(t, handler, strings.NewReader(fits)); status != http.StatusOK || reply["name"] != "gold" {
		t.Errorf("a body of %d bytes: status %d, error %v", len(fits), status, reply["error"])
	}
	large := strings.Replace(fits, "xx", "xxx", 1)
	for name, body := range map[string]io.Reader{
		"by this handler": strings.NewReader(large),
		"by the server":   http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(large)), MaxSelectBody),
	} {
		if status, reply := ask(t, handler, body); status != http.StatusRequestEntityTooLarge || reply["error"] != "bad_request" {
			t.Errorf("%s: status %d, reply %v", name, status, reply)
		}
	}
}

func TestSelectSurvivesABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	handler, _ := newSelect(t, selectSource())
	body := io.MultiReader(strings.NewReader(`{"username":"bob"`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if status, reply := ask(t, handler, body); status != http.StatusOK || reply["error"] != "bad_request" {
		t.Errorf("status %d, reply %v", status, reply)
	}
}

func TestSelectRepeatsNothingOfTheRequest(t *testing.T) {
	t.Parallel()
	handler, _ := newSelect(t, selectSource())
	for _, body := range []string{
		`{"username":"bob","requestedSubscription":"<script>secret"}`, `{"username":"bob","requestedSubscription":"gold","requestedModel":"<script>secret"}`,
		`{"username":"<script>secret","groups":["<script>secret"]}`, `{"username":"bob","<script>secret":tru}`, `{"<script>secret`, `{"username":["<script>secret"]}`,
	} {
		_, reply := ask(t, handler, strings.NewReader(body))
		message, _ := reply["message"].(string)
		if reply["error"] == nil || message == "" || len(message) > 200 || strings.Contains(message, "secret") {
			t.Errorf("reply to %s: %v", body, reply)
		}
	}
}

func TestSelectCountsWhatItAnswers(t *testing.T) {
	t.Parallel()
	handler, registry := newSelect(t, selectSource())
	for _, body := range []string{
		`{"username":"bob"}`, `{"username":"bob","requestedModel":"granite"}`, `{"username":"eve"}`, `{}`, `{"x":"` + strings.Repeat("x", MaxSelectBody) + `"}`,
	} {
		ask(t, handler, strings.NewReader(body))
	}
	want := `
# HELP maas_api_subscription_select_total Answers to the gateway about the subscription of a request, by result: selected, access_not_allowed, or the code of the refusal.
# TYPE maas_api_subscription_select_total counter
maas_api_subscription_select_total{result="access_denied"} 0
maas_api_subscription_select_total{result="access_not_allowed"} 1
maas_api_subscription_select_total{result="bad_request"} 1
maas_api_subscription_select_total{result="internal_error"} 0
maas_api_subscription_select_total{result="model_not_in_subscription"} 0
maas_api_subscription_select_total{result="model_unhealthy"} 0
maas_api_subscription_select_total{result="multiple_subscriptions"} 0
maas_api_subscription_select_total{result="not_found"} 1
maas_api_subscription_select_total{result="selected"} 1
maas_api_subscription_select_total{result="too_large"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if _, err := NewSelect(selectSource(), registry); err == nil {
		t.Error("a second handler registered its metric without an error")
	}
}

func TestSelectIsAnInternalRoute(t *testing.T) {
	t.Parallel()
	handler, _ := newSelect(t, selectSource())
	routes := handler.Routes()
	if len(routes) != 1 || routes[0].Method != http.MethodPost || routes[0].Pattern != SelectPath || routes[0].Audience != httpapi.Internal || routes[0].MaxBody != MaxSelectBody {
		t.Errorf("routes %+v", routes)
	}
}

func TestDecodeSelectReadsWhatTheBodySays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want selectRequest
	}{
		"all members":                 {`{"groups":["a","b"],"username":"bob","requestedSubscription":"gold","requestedModel":"llm/granite"}`, selectRequest{"bob", "gold", "llm/granite", []string{"a", "b"}}},
		"white space":                 {" {\t\"username\" :\r\n\"bob\" , \"groups\" : [ \"a\" , \"b\" ] } ", selectRequest{username: "bob", groups: []string{"a", "b"}}},
		"escapes":                     {`{"user\u006eame":"b\"\\\u00f6\ud83d\ude00","groups":["\u0061]"]}`, selectRequest{username: "b\"\\ö😀", groups: []string{"a]"}}},
		"other languages":             {`{"username":"Zoë 王"}`, selectRequest{username: "Zoë 王"}},
		"null":                        {`{"username":"bob","groups":null,"requestedModel":null}`, selectRequest{username: "bob"}},
		"an empty list":               {`{"username":"bob","groups":[ ]}`, selectRequest{username: "bob", groups: []string{}}},
		"unknown members of any kind": {`{"a":[1,-2.5e+3,{"b":[]},"]"],"b":{"username":"eve"},"c":true,"d":null,"e":"}","username":"bob","f":{}}`, selectRequest{username: "bob"}},
		"the last of two":             {`{"username":"eve","username":"bob","groups":["a"],"groups":["b"]}`, selectRequest{username: "bob", groups: []string{"b"}}},
		"names that match exactly":    {`{"Username":"eve","username":"bob","GROUPS":["a"]}`, selectRequest{username: "bob"}},
		"what follows is not read":    {`{"username":"bob"} {"username":"eve"}`, selectRequest{username: "bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeSelect(test.body)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(selectRequest{})); diff != "" || err != nil {
				t.Errorf("decodeSelect() error = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDecodeSelectRefusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for body, want := range map[string]string{
		"":                                       bodyNoObject,
		"null":                                   bodyNoObject,
		`"bob"`:                                  bodyNoObject,
		"{":                                      bodyNoJSON,
		`{"username"`:                            bodyNoJSON,
		`{"username":`:                           bodyNoText,
		`{"username":"bob`:                       bodyNoJSON,
		`{"username":"bob"`:                      bodyNoJSON,
		`{"username":"bob",}`:                    bodyNoJSON,
		`{"username":"bob" "groups":[]}`:         bodyNoJSON,
		`{username:"bob"}`:                       bodyNoJSON,
		`{"username":"a` + "\n" + `b"}`:          bodyNoJSON,
		`{"username":"\x"}`:                      bodyNoJSON,
		`{"username":"bob\`:                      bodyNoJSON,
		`{"username":1}`:                         bodyNoText,
		`{"username":nul}`:                       bodyNoText,
		`{"username":"bob","requestedModel":{}}`: bodyNoText,
		`{"username":"bob","requestedSubscription":[]}`: bodyNoText,
		`{"username":"bob","groups":"a"}`:               bodyNoGroups,
		`{"username":"bob","groups":[1]}`:               bodyNoGroups,
		`{"username":"bob","groups":[null]}`:            bodyNoGroups,
		`{"username":"bob","groups":["a",]}`:            bodyNoGroups,
		`{"username":"bob","groups":["a" "b"]}`:         bodyNoJSON,
		`{"username":"bob","groups":["a"`:               bodyNoJSON,
		`{"username":"bob","groups":[`:                  bodyNoGroups,
		`{"username":"bob","x":}`:                       bodyNoJSON,
		`{"username":"bob","x":,"y":1}`:                 bodyNoJSON,
		`{"username":"bob","x":tru}`:                    bodyNoJSON,
		`{"username":"bob","x":[1}}`:                    bodyNoJSON,
		`{"username":"bob","x":[`:                       bodyNoJSON,
		`{"username":"bob","x":`:                        bodyNoJSON,
		`{"username":"bob","x":` + "\x00" + `}`:         bodyNoJSON,
		`{"username":"bob","x":` + deep + `}`:           bodyTooDeep,
		"{\"username\":\"b\xff\"}":                      bodyNoUTF8,
		`{}`:                                            bodyNoSubject,
		`{"username":null}`:                             bodyNoSubject,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			got, err := decodeSelect(body)
			if diff := cmp.Diff(malformed(want), err); diff != "" {
				t.Errorf("decodeSelect() = %+v, error (-want +got):\n%s", got, diff)
			}
		})
	}
}

// oracle reads a body with the standard library: exact names, and no null among the
// groups.
func oracle(body string) (r selectRequest, ok bool) {
	var members map[string]json.RawMessage
	if json.NewDecoder(strings.NewReader(body)).Decode(&members) != nil || members == nil {
		return r, false
	}
	for name, into := range map[string]*string{"username": &r.username, "requestedSubscription": &r.subscription, "requestedModel": &r.model} {
		if text := members[name]; text != nil && json.Unmarshal(text, into) != nil {
			return r, false
		}
	}
	var groups []*string
	if text := members["groups"]; text != nil && json.Unmarshal(text, &groups) != nil {
		return r, false
	}
	for _, group := range groups {
		if group == nil {
			return r, false
		}
		r.groups = append(r.groups, *group)
	}
	return r, r.username != ""
}

func FuzzSelectBody(f *testing.F) {
	for _, body := range []string{
		`{"groups":["team"],"username":"bob","requestedSubscription":"gold","requestedModel":"llm/granite"}`, `{"username":"b\u006fb","x":[{"y":1e3}]}`,
		`{"username":null}`, `{"groups":[null],"username":"bob"}`, `{"username":"bob","x":tru}`, `[]`, `{"username":"\ud800"}`, "{\"username\":\"\xff\"}", `{"username":"bob"}}`,
	} {
		f.Add(body)
	}
	handler, _ := newSelect(f, selectSource())
	f.Fuzz(func(t *testing.T, body string) {
		status, reply := ask(t, handler, strings.NewReader(body))
		if status != http.StatusOK && (status != http.StatusRequestEntityTooLarge || len(body) <= MaxSelectBody) {
			t.Fatalf("status %d", status)
		}
		if reply["error"] == string(subscription.CodeInternal) {
			t.Fatalf("reply %v", reply)
		}
		compare(t, body)
	})
}

// compare holds the decoder against the standard library.
func compare(t *testing.T, body string) {
	t.Helper()
	got, err := decodeSelect(body)
	want, ok := oracle(body)
	switch {
	case err == nil && !ok:
		t.Fatalf("decodeSelect() = %+v, which the standard library refuses", got)
	case repeated(body):
	case err != nil && ok && err.Error() != bodyNoUTF8 && err.Error() != bodyTooDeep:
		t.Fatalf("decodeSelect() error = %v, want %+v", err, want)
	case err == nil && fmt.Sprintf("%+q", got) != fmt.Sprintf("%+q", want):
		t.Fatalf("decodeSelect() = %+q, want %+q", got, want)
	}
}

// repeated tells whether a member may come twice: then a null or a fault in the
// first one makes a difference.
func repeated(body string) bool {
	return strings.Count(body, ":") > 1 && (strings.Count(body, "username") != 1 || strings.Count(body, "groups") > 1 ||
		strings.Count(body, "requestedModel") > 1 || strings.Count(body, "requestedSubscription") > 1 || strings.Contains(body, `\`))
}
