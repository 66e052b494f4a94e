// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/hack/gateway/limiter"
)

// tokens is a limit of one per user.
func tokens(largest uint64) limiter.Spec {
	return limiter.Spec{
		Namespace: "shop/route", Name: "tokens", MaxValue: largest, Seconds: 60,
		Conditions: []string{`descriptors[0]["limit.a"] == "1"`}, Variables: []string{`descriptors[0]["auth.identity.name"]`},
	}
}

// pair is a check and a report as they are generated for a limit.
func pair(service, predicate string) string {
	action := func(kind, hits string) string {
		return `{"service": "` + kind + `", "scope": "shop/route", "conditionalData": [{"predicates": [` + quoted(predicate) + `], "data": [
			{"expression": {"key": "limit.a", "value": "1"}}, {"expression": {"key": "auth.identity.name", "value": "auth.identity.name"}},
			{"expression": {"key": "ratelimit.hits_addend", "value": ` + quoted(hits) + `}}]}]}`
	}
	return action(service+"check", "0") + `, ` + action(service+"report", `responseBodyJSON("/usage/total_tokens")`)
}

func TestExhaustedLimit(t *testing.T) {
	t.Parallel()
	client := allowing(t, map[string]any{"identity": map[string]any{"name": "alice"}}).client(t)
	b := benchWith(t, one(`{"service": "auth", "scope": "s"}, `+pair("", "request.method == 'POST'")), client, tokens(10))
	if _, answer := b.plugin.Begin(t.Context(), b.services, request()); answer != nil {
		t.Fatalf("answer %+v", answer)
	}
	if _, err := b.services.Limiter.Report("shop/route", []map[string]string{{"limit.a": "1", "auth.identity.name": "alice"}}, 10); err != nil {
		t.Fatal(err)
	}
	_, answer := b.plugin.Begin(t.Context(), b.services, request())
	want := &Answer{Status: http.StatusTooManyRequests, Body: "Too Many Requests\n", outcome: OutcomeLimited}
	if diff := cmp.Diff(want, answer, cmp.AllowUnexported(Answer{})); diff != "" {
		t.Fatalf("answer (-want +got):\n%s", diff)
	}
	d := b.last(t)
	if results(d) != "auth:allowed check:over" || d.Outcome != OutcomeLimited || d.Status != http.StatusTooManyRequests {
		t.Errorf("%s: %+v", results(d), d)
	}
	wantUse := []limiter.Use{{
		Namespace: "shop/route", Name: "tokens", Max: 10, Seconds: 60, Value: 10, Over: true,
		Variables: map[string]string{`descriptors[0]["auth.identity.name"]`: "alice"}, Ends: new(b.time.Add(time.Minute)),
	}}
	if diff := cmp.Diff(wantUse, d.Steps[1].Limits); diff != "" {
		t.Errorf("recorded limit (-want +got):\n%s", diff)
	}
}

func TestLimitThatIsNotForARequest(t *testing.T) {
	t.Parallel()
	client := allowing(t, map[string]any{"identity": map[string]any{"name": "alice"}}).client(t)
	b := benchWith(t, one(`{"service": "auth", "scope": "s"}, `+pair("", "request.method == 'GET'")), client, tokens(0))
	if _, answer := b.plugin.Begin(t.Context(), b.services, request()); answer != nil {
		t.Errorf("answer %+v", answer)
	}
	if got := results(b.last(t)); got != "auth:allowed check:skipped" {
		t.Error(got)
	}
}

func TestWhatALimiterIsAsked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		action, data  string
		want          []map[string]string
		hits          uint64
		result, error string
	}{
		"entries of blocks that hold": {
			action: `"conditionalData": [{"predicates": ["true", "request.method == 'POST'"], "data": [{"static": {"key": "a", "value": "1"}}]},
				{"predicates": ["false"], "data": [{"static": {"key": "b", "value": "2"}}]}, {"data": [{"static": {"key": "c", "value": "3"}}, {"static": {"key": "a", "value": "4"}}]}]`,
			want: []map[string]string{{"a": "4", "c": "3"}}, hits: 1, result: ResultWithin,
		},
		"no block holds":                  {action: `"conditionalData": [{"predicates": ["false"]}, {"predicates": ["false"]}]`, result: ResultSkipped},
		"one block holds, another fails":  {action: `"conditionalData": [{"predicates": ["true"], "data": [{"static": {"key": "a", "value": "1"}}]}, {"predicates": ["auth.a > 1"]}]`, result: ResultFailed, error: "auth.a"},
		"no block holds, but one fails":   {action: `"conditionalData": [{"predicates": ["auth.a > 1"]}, {"predicates": ["false"]}]`, result: ResultFailed, error: "auth.a"},
		"its own predicate does not hold": {action: `"predicates": ["false"], "conditionalData": [{"predicates": ["auth.a > 1"]}]`, result: ResultSkipped},
		"its own predicate fails":         {action: `"predicates": ["auth.a > 1"], "conditionalData": [{"predicates": ["false"]}]`, result: ResultSkipped},
		"its own predicate fails for one": {action: `"predicates": ["auth.a > 1"], "conditionalData": [{"predicates": ["true"]}]`, result: ResultFailed, error: "auth.a"},
		"a value fails":                   {action: `"conditionalData": [{"data": [{"expression": {"key": "a", "value": "request.headers['none']"}}]}]`, result: ResultFailed, error: "no such key"},
		"a value is null":                 {action: `"conditionalData": [{"data": [{"expression": {"key": "a", "value": "request.referer"}}]}]`, result: ResultFailed, error: "no such overload"},
		"hits":                            {action: `"conditionalData": [{"data": [{"static": {"key": "ratelimit.hits_addend", "value": "7"}}, {"static": {"key": "a", "value": "1"}}]}]`, want: []map[string]string{{"a": "1"}}, hits: 7, result: ResultWithin},
		"hits of a block that fails to be": {
			action: `"conditionalData": [{"predicates": ["false"], "data": [{"expression": {"key": "ratelimit.hits_addend", "value": "size(request.method)"}}]}, {"data": [{"static": {"key": "a", "value": "1"}}]}]`,
			want:   []map[string]string{{"a": "1"}}, hits: 4, result: ResultWithin,
		},
		"negative hits":         {action: `"conditionalData": [{"data": [{"expression": {"key": "ratelimit.hits_addend", "value": "-1"}}]}]`, result: ResultFailed, error: "overflow"},
		"too many hits":         {action: `"conditionalData": [{"data": [{"expression": {"key": "ratelimit.hits_addend", "value": "4294967296"}}]}]`, result: ResultFailed, error: "32 bits"},
		"a namespace":           {action: `"conditionalData": [{"data": [{"static": {"key": "ratelimit.domain", "value": "shop/route"}}, {"static": {"key": "limit.a", "value": "1"}}, {"static": {"key": "auth.identity.name", "value": "x"}}]}]`, want: []map[string]string{{"limit.a": "1", "auth.identity.name": "x"}}, hits: 1, result: ResultOver},
		"no text for namespace": {action: `"conditionalData": [{"data": [{"expression": {"key": "ratelimit.domain", "value": "auth"}}]}]`, result: ResultFailed, error: "is of type null"},
		"labels as well": {
			action: `"conditionalData": [{"data": [{"static": {"key": "a", "value": "1"}}]}]`,
			data:   `, "requestData": {"metrics.labels.user": "'alice'", "x.y": "request.method", "late": "responseBodyJSON('/a')"}`,
			want:   []map[string]string{{"a": "1"}, {"user": "alice", "x.y": "POST"}}, hits: 1, result: ResultWithin,
		},
		"only labels": {
			action: `"sources": []`, data: `, "requestData": {"u": "'alice'"}`, want: []map[string]string{{"u": "alice"}}, hits: 1, result: ResultWithin,
		},
		"a label fails, so all fails": {
			action: `"conditionalData": [{"data": [{"static": {"key": "a", "value": "1"}}]}]`, data: `, "requestData": {"u": "auth.identity.name"}`, result: ResultFailed, error: "auth.identity.name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchWith(t, one(`{"service": "check", "scope": "elsewhere", `+tc.action+`}`, tc.data), nil, tokens(0))
			b.plugin.Begin(t.Context(), b.services, request())
			step := b.last(t).Steps[0]
			if step.Result != tc.result || (step.Error == "") != (tc.error == "") || !strings.Contains(step.Error, tc.error) {
				t.Fatalf("%s (%s), want %s (%s)", step.Result, step.Error, tc.result, tc.error)
			}
			if tc.error != "" {
				return
			}
			if diff := cmp.Diff(tc.want, step.Descriptors); diff != "" || step.Hits != tc.hits {
				t.Errorf("%d hits, descriptors (-want +got):\n%s", step.Hits, diff)
			}
		})
	}
}

func TestLimiterThatFails(t *testing.T) {
	t.Parallel()
	for service, passes := range map[string]bool{"check": true, "strict-check": false} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			b := benchWith(t, one(`{"service": "`+service+`", "scope": "s"}`), nil)
			b.services.Limiter.SetDown(true)
			_, answer := b.plugin.Begin(t.Context(), b.services, request())
			if (answer == nil) != passes || answer != nil && answer.Status != http.StatusInternalServerError {
				t.Errorf("answer %+v", answer)
			}
			if d := b.last(t); results(d) != service+":failed" || !strings.Contains(d.Steps[0].Error, "down") {
				t.Errorf("decision %+v", d)
			}
		})
	}
}
