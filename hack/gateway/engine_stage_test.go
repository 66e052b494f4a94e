// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/hack/gateway/filter"
	"github.com/opendatahub-io/maas-operator/hack/gateway/limiter"
)

// The subscriptions of testdata/generated.yaml by what they may use a minute.
const (
	hundred   = "a29aaa780b08d04b"
	thousand  = "2e49dc7c4d9d1bac"
	unlimited = "186b3f0d964798dd"
)

// configurationPath is where a patch has the filter's configuration.
var configurationPath = []string{"patch", "value", "typed_config", "value", "config", "configuration", "value"}

// generatedObjects are a real EnvoyFilter and a real Limitador.
func generatedObjects(t *testing.T) (envoyFilter, limitador *unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile("testdata/generated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if o.GetKind() == "EnvoyFilter" {
			envoyFilter = o
		} else {
			limitador = o
		}
	}
	// The generated time for Authorino is too short for a busy machine.
	patches, _, err := unstructured.NestedSlice(envoyFilter.Object, "spec", "configPatches")
	if err != nil {
		t.Fatal(err)
	}
	first := patches[0].(map[string]any)
	configuration, _, _ := unstructured.NestedString(first, configurationPath...)
	if err := errors.Join(
		unstructured.SetNestedField(first, strings.Replace(configuration, `"200ms"`, `"20s"`, 1), configurationPath...),
		unstructured.SetNestedSlice(envoyFilter.Object, patches, "spec", "configPatches"),
	); err != nil {
		t.Fatal(err)
	}
	envoyFilter.SetResourceVersion("1")
	limitador.SetResourceVersion("1")
	return envoyFilter, limitador
}

// judge plays Authorino: who presents "<user>/<subscription>" is that user,
// who presents "no" is denied, and anybody else is unknown.
type judge struct {
	authv3.UnimplementedAuthorizationServer

	mu     sync.Mutex
	scopes []string
}

func (a *judge) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	a.mu.Lock()
	a.scopes = append(a.scopes, r.GetAttributes().GetContextExtensions()["host"])
	a.mu.Unlock()
	token := strings.TrimPrefix(r.GetAttributes().GetRequest().GetHttp().GetHeaders()["authorization"], "Bearer ")
	user, subscription, known := strings.Cut(token, "/")
	if !known {
		code := typev3.StatusCode_Unauthorized
		if token == "no" {
			code = typev3.StatusCode_Forbidden
		}
		return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
			Status: &typev3.HttpStatus{Code: code}, Body: `{"error":"denied"}`,
			Headers: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "X-Reason", Value: token}}, {Header: &corev3.HeaderValue{Key: "content-type", Value: "application/json"}}},
		}}}, nil
	}
	md, err := structpb.NewStruct(map[string]any{"identity": map[string]any{"userid": user, "selected_subscription_id": subscription}})
	if err != nil {
		return nil, err
	}
	return &authv3.CheckResponse{DynamicMetadata: md, HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{
		Headers: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-user", Value: user}}},
	}}}, nil
}

// stage is the stand-in in engine mode with everything around it.
type stage struct {
	front
	engine  *engine
	admin   *httptest.Server
	objects dynamic.Interface
	judge
	grpc *grpc.Server
	// model answers on the model's route.
	model http.HandlerFunc
}

func engineStage(t *testing.T, generated ...*unstructured.Unstructured) *stage {
	t.Helper()
	s := &stage{grpc: grpc.NewServer()}
	s.model = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"path": r.URL.Path, "original": r.Header.Get("X-Envoy-Original-Path"), "users": r.Header["X-User"], "usage": map[string]int{"total_tokens": 60},
		})
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.model(w, r) }))
	t.Cleanup(backend.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	authv3.RegisterAuthorizationServer(s.grpc, &s.judge)
	go func() { _ = s.grpc.Serve(listener) }()
	t.Cleanup(s.grpc.Stop)
	connection, err := dialAuthorization(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })

	set := settings{engine: true, gateway: theGateway, limitador: "kuadrant-system/limitador"}
	for _, name := range []string{"odh-ai-gateway-infra/maas-api:8443", "llm/granite-kserve-workload-svc"} {
		if err := set.backends.Set(name + "=" + backend.URL); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	kinds := map[schema.GroupVersionResource]string{routeResource: "HTTPRouteList", filterResource: "EnvoyFilterList", limiterResource: "LimitadorList"}
	all := objects(t, "../../config/maas-api/httproute.yaml", "../../config/samples/llminferenceservice.yaml")
	for _, o := range generated {
		all = append(all, o)
	}
	s.objects = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...)
	p := newProxy(&routing{gateway: theGateway}, set.backends, trust(nil, false), log)
	t.Cleanup(p.transport.CloseIdleConnections)
	if s.engine, err = newEngine(p, authv3.NewAuthorizationClient(connection), log); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if err := s.engine.watch(ctx, s.objects, set); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(s.engine)
	t.Cleanup(server.Close)
	s.front = front{server.URL, server.Client()}
	s.admin = httptest.NewServer(s.engine.admin())
	t.Cleanup(s.admin.Close)
	return s
}

// enforced is a stage with the real configuration.
func enforced(t *testing.T) *stage {
	t.Helper()
	envoyFilter, limitador := generatedObjects(t)
	return engineStage(t, envoyFilter, limitador)
}

// ask asks the admin address.
func (s *stage) ask(t *testing.T, method, path, body string, into any) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.admin.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.admin.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s answers %s: %s", method, path, response.Status, text)
		}
	}
	return response.StatusCode
}

func (s *stage) state(t *testing.T) (out state) {
	t.Helper()
	s.ask(t, http.MethodGet, "/config", "", &out)
	return out
}

// until waits for a state of the configuration.
func (s *stage) until(t *testing.T, what string, is func(state) bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(20 * time.Second)
	defer end.Stop()
	for {
		now := s.state(t)
		if is(now) {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("%s: still %+v", what, now)
		}
	}
}

// decision is the record of a request.
func (s *stage) decision(t *testing.T, id string) filter.Decision {
	t.Helper()
	var out []filter.Decision
	s.ask(t, http.MethodGet, "/requests?id="+id, "", &out)
	if len(out) != 1 {
		t.Fatalf("%d decisions about %s", len(out), id)
	}
	return out[0]
}

func (s *stage) counters(t *testing.T) string {
	t.Helper()
	var uses []limiter.Use
	s.ask(t, http.MethodGet, "/counters", "", &uses)
	var out []string
	for _, u := range uses {
		out = append(out, fmt.Sprintf("%s %s %d/%d=%d", u.Variables[`descriptors[0]["auth.identity.userid"]`], u.Variables[`descriptors[0]["auth.identity.selected_subscription_id"]`], u.Max, u.Seconds, u.Value))
	}
	return strings.Join(out, ", ")
}

const chat = "/llm/granite/v1/chat/completions"
