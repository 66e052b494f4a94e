// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
)

// answers are those of a gateway and of maas-api in one.
func answers() map[string]string {
	return map[string]string{
		"POST /v1/api-keys":                      `{"key":"sk-oai-id_secret","keyPrefix":"sk-oai-id...","id":"7","subscription":"data-science-standard","expiresAt":"2030-01-01T00:00:00Z"}`,
		"POST /internal/v1/api-keys/validate":    `{"valid":true,"username":"alice","groups":["data-science"],"subscription":"data-science-standard"}`,
		"POST /internal/v1/subscriptions/select": `{"subscriptionKey":"tenant/data-science-standard@llm/granite","accessAllowed":true}`,
		"GET /v1/models":                         `{"data":[{"id":"granite","url":"https://maas.example.com/llm/granite","owned_by":"llm/granite"}]}`,
		"GET /llm/granite/v1/models":             `{}`,
		"POST /llm/granite/v1/chat/completions":  `{"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`,
	}
}

// visitTo returns a visit to a server with the given answers.
func visitTo(t *testing.T, answers map[string]string) *visit {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.Method+" "+r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/v1/api-keys":
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return &visit{
		caller: &caller{http: server.Client()}, gateway: server.URL, service: server.URL, token: "t",
		endpoint: server.URL + "/llm/granite", model: sampleModel{Ref: types.NamespacedName{Namespace: "llm", Name: "granite"}},
	}
}

func TestVisitShowsEveryCallAndNoKey(t *testing.T) {
	t.Parallel()
	all := answers()
	v := visitTo(t, all)
	all["GET /v1/models"] = strings.ReplaceAll(all["GET /v1/models"], "https://maas.example.com", v.gateway)
	if err := v.awaitAdmission(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := v.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	ok := func(what, asked, request, answer string) callReport {
		return callReport{What: what, Asked: asked, Request: request, Status: http.StatusOK, Answer: answer}
	}
	mint := ok("create key", askedGateway, "POST /v1/api-keys", "sk-oai-id... of data-science-standard, until 2030-01-01T00:00:00Z")
	mint.Status = http.StatusCreated
	want := []callReport{
		mint,
		ok("validate", askedService, "POST /internal/v1/api-keys/validate", "valid: alice in data-science"),
		ok("validate", askedService, "POST /internal/v1/api-keys/validate", "valid: alice in data-science"),
		ok("select", askedService, "POST /internal/v1/subscriptions/select", "tenant/data-science-standard@llm/granite"),
		ok("list models", askedGateway, "GET /v1/models", "1: granite"),
		ok("chat", askedGateway, "POST /llm/granite/v1/chat/completions", "usage: 3 prompt + 4 completion = 7 tokens"),
	}
	if diff := cmp.Diff(want, v.report.Calls, cmpopts.IgnoreFields(callReport{}, "Took")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if v.key != "sk-oai-id_secret" || v.keyID != "7" || v.id != "granite" {
		t.Errorf("the visit kept %q, %q and %q", v.key, v.keyID, v.id)
	}
	text, err := json.Marshal(v.report)
	if err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("the report tells the key, or nothing (%v): %s", err, text)
	}
}

func TestVisitFailsWhereAnAnswerIsNotAsItShouldBe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ request, answer, want string }{
		"a key that is not valid": {"POST /internal/v1/api-keys/validate", `{"valid":false,"reason":"key not found"}`, "key not found"},
		"a caller without access": {"POST /internal/v1/subscriptions/select", `{"accessAllowed":false,"message":"no policy"}`, "no policy"},
		"a model that is missing": {"GET /v1/models", `{"data":[]}`, "is not listed"},
		"a body that is no JSON":  {"GET /v1/models", `<html>`, "decode answer"},
		"a chat without usage":    {"POST /llm/granite/v1/chat/completions", `{}`, "tells no usage"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := answers()
			v := visitTo(t, all)
			all["GET /v1/models"] = strings.ReplaceAll(all["GET /v1/models"], "https://maas.example.com", v.gateway)
			all[tc.request] = tc.answer
			if err := v.run(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("run() = %v, want an error that says %q", err, tc.want)
			}
		})
	}
}

func TestRefusalNamesTheCallAndItsStatus(t *testing.T) {
	t.Parallel()
	all := answers()
	delete(all, "POST /v1/api-keys")
	err := visitTo(t, all).run(t.Context())
	var u *unexpected
	if !errors.As(err, &u) || u.status != http.StatusForbidden || !strings.Contains(err.Error(), "create key: POST ") {
		t.Errorf("run() = %v, want the refusal of the first call", err)
	}
}

func TestRenderVisit(t *testing.T) {
	t.Parallel()
	r := visitReport{Calls: []callReport{
		{What: "create key", Asked: askedGateway, Request: "POST /v1/api-keys", Status: 201, Took: 12345 * time.Microsecond, Answer: "sk-oai-id... of gold"},
		{What: "validate", Asked: askedService, Request: "POST /internal/v1/api-keys/validate", Status: 200, Took: 432 * time.Microsecond, Answer: "valid: alice in science"},
	}}
	var got bytes.Buffer
	if err := renderVisit(&got, r); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "visit.txt")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
