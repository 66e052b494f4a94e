// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

const theGateway = "openshift-ingress/maas-default-gateway"

// objects reads files of YAML documents, the project's own among them.
func objects(t *testing.T, files ...string) []runtime.Object {
	t.Helper()
	var out []runtime.Object
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				t.Fatal(err)
			}
			if kind := o.GetKind(); kind == "HTTPRoute" || kind == "AuthPolicy" {
				out = append(out, o)
			}
		}
	}
	return out
}

// everything is the development install, the sample model and the policy that the
// operator generates for it, as far as the stand-in reads it.
func everything(t *testing.T) []runtime.Object {
	t.Helper()
	return objects(t, "../../config/maas-api/httproute.yaml", "../../config/samples/llminferenceservice.yaml", "testdata/objects.yaml")
}

// front is the stand-in as its clients see it.
type front struct {
	url    string
	client *http.Client
}

// serving starts the stand-in before backends that answer with what reached them,
// and with maas-api's callbacks.
func serving(t *testing.T, change ...func(*settings)) front {
	t.Helper()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "path": r.URL.EscapedPath(), "query": r.URL.RawQuery, "host": r.Host, "header": r.Header, "body": string(body)})
	}))
	t.Cleanup(echo.Close)
	api := httptest.NewServer(callbacks(t))
	t.Cleanup(api.Close)
	identities := filepath.Join(t.TempDir(), "identities.yaml")
	const table = "alice-token: {username: alice, groups: [data-science, \"comma,group\"]}\nrobot-token: {username: robot, groups: [], subscription: gold}\nstale-token: refuse\n"
	if err := os.WriteFile(identities, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	s := settings{identities: identities, api: api.URL}
	for _, name := range []string{"odh-ai-gateway-infra/maas-api:8443", "llm/granite-kserve-workload-svc"} {
		if err := s.backends.Set(name + "=" + echo.URL); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range change {
		f(&s)
	}
	log := slog.New(slog.DiscardHandler)
	who, err := newTable(s, log)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[schema.GroupVersionResource]string{routeResource: "HTTPRouteList", policyResource: "AuthPolicyList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, everything(t)...)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	routes := &routing{gateway: theGateway, apiName: "maas-api-route"}
	if err := watch(ctx, client, routes, log); err != nil {
		t.Fatal(err)
	}
	p := newProxy(routes, s.backends, trust(nil, false), log)
	p.who = who
	server := httptest.NewTLSServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(p.transport.CloseIdleConnections)
	t.Cleanup(who.client.CloseIdleConnections)
	return front{server.URL, server.Client()}
}

// callbacks play maas-api: one valid key, and one subscription.
func callbacks(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /internal/v1/api-keys/validate", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Key string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		for name := range r.Header {
			if strings.HasPrefix(name, "X-") {
				t.Errorf("a callback carries %s: maas-api would take it for a request through the gateway", name)
			}
		}
		switch body.Key {
		case "sk-oai-good":
			fmt.Fprint(w, `{"valid":true,"userId":"1","username":"carol","keyId":"k","groups":["engineers"],"subscription":"gold"}`)
		case "sk-oai-unbound":
			fmt.Fprint(w, `{"valid":true,"username":"carol","groups":[]}`)
		case "sk-oai-crash":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprint(w, `{"valid":false,"reason":"key not found"}`)
		}
	})
	mux.HandleFunc("POST /internal/v1/subscriptions/select", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Username, RequestedSubscription, RequestedModel string
			Groups                                          []string
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		switch {
		case body.RequestedModel != "llm/granite" || body.Groups[0] != "system:authenticated":
			t.Errorf("asked for %+v", body)
		case body.RequestedSubscription == "gold":
			fmt.Fprint(w, `{"name":"gold","phase":"Active","resolvedModel":"llm/granite","accessAllowed":true}`)
		case body.RequestedSubscription == "denied":
			fmt.Fprint(w, `{"name":"denied","phase":"Active","resolvedModel":"llm/granite","accessAllowed":false}`)
		case body.RequestedSubscription == "dying":
			fmt.Fprint(w, `{"name":"dying","phase":"Active","resolvedModel":"llm/granite","accessAllowed":true,"deletionTimestamp":"2026-01-01T00:00:00Z"}`)
		default:
			fmt.Fprint(w, `{"error":"not_found","message":"no matching subscription found for user","accessAllowed":false,"phase":"","ready":false}`)
		}
	})
	return mux
}

// reached is what a backend saw, or the answer of the stand-in.
type reached struct {
	status int
	text   string
	reason string
	Method string
	Path   string
	Query  string
	Host   string
	Body   string
	Header http.Header
}

func (f front) call(t *testing.T, method, path string, header http.Header) reached {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.url+path, strings.NewReader("ping"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "maas.example.com"
	maps.Copy(r.Header, header)
	response, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	out := reached{status: response.StatusCode, text: strings.TrimSpace(text.String()), reason: response.Header.Get(headerReason)}
	if out.status == http.StatusOK {
		if err := json.Unmarshal(text.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func authorization(token string, more ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + token}}
	for pair := range slices.Chunk(more, 2) {
		h[pair[0]] = []string{pair[1]}
	}
	return h
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parseLeaf(t *testing.T, der []byte) *x509.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func verify(leaf *x509.Certificate, pool *x509.CertPool, name string, now time.Time) error {
	_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: now})
	return err
}
