// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestGeneratedConfigurationIsEnforced(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	for name, tc := range map[string]struct {
		method, path string
		header       http.Header
		status       int
		text         string
		outcome      string
		results      string
	}{
		"nobody":        {path: chat, status: 401, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "auth:denied"},
		"somebody else": {path: chat, header: authorization("no"), status: 403, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "auth:denied"},
		"a caller": {
			path: chat, header: authorization("alice/" + unlimited), status: 200, outcome: filter.OutcomePassed,
			results: "auth:allowed check:skipped,skipped,within report:skipped,skipped,reported",
		},
		"the list of models, which no limit is for": {
			path: "/llm/granite/v1/models", header: authorization("alice/" + hundred), status: 200, outcome: filter.OutcomePassed,
			results: "auth:allowed check:skipped,skipped,skipped report:skipped,skipped,skipped",
		},
		"its path in the query, which a limit is for": {
			path: chat + "?x=/v1/models", header: authorization("bob/" + hundred), status: 200, outcome: filter.OutcomePassed,
			results: "auth:allowed check:within,skipped,skipped report:reported,skipped,skipped",
		},
		"health of maas-api": {
			method: "GET", path: "/maas-api/health", status: 200, outcome: filter.OutcomePassed,
			results: "check:skipped auth:skipped report:skipped",
		},
		"health by another method": {path: "/maas-api/health", status: 401, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "check:skipped auth:denied"},
		"what only begins like a path of maas-api": {
			path: "/maas-api/v1/modelsx", header: authorization("alice/" + hundred), status: 429, text: "Too Many Requests", outcome: filter.OutcomeLimited, results: "check:over",
		},
		"a route that nothing is generated for": {path: "/v1/subscriptions", status: 200, outcome: filter.OutcomeUnmatched},
		"no route":                              {path: "/none", status: 404, text: noRoute, outcome: filter.OutcomeUnmatched},
		"no route, but an action set for its path": {
			path: "/llm/granite2", status: 401, text: `{"error":"denied"}`, outcome: filter.OutcomeDenied, results: "auth:denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method := tc.method
			if method == "" {
				method = http.MethodPost
			}
			id := strings.ReplaceAll(name, " ", "-")
			header := http.Header{"X-Request-Id": {id}}
			maps.Copy(header, tc.header)
			got := s.call(t, method, tc.path, header)
			if got.status != tc.status || tc.text != "" && got.text != tc.text {
				t.Errorf("status %d (%s), want %d (%s)", got.status, got.text, tc.status, tc.text)
			}
			d := s.decision(t, id)
			if d.Outcome != tc.outcome || resultsOf(d) != tc.results || d.Status != tc.status {
				t.Errorf("%s with %d by\n%s, want %s with %d by\n%s", d.Outcome, d.Status, resultsOf(d), tc.outcome, tc.status, tc.results)
			}
		})
	}
}

// resultsOf lists the results of actions, those of one kind in a row together.
func resultsOf(d filter.Decision) string {
	var out strings.Builder
	last := ""
	for _, s := range d.Steps {
		kind := strings.TrimPrefix(s.Type, "ratelimit-")
		if kind == last {
			out.WriteString("," + s.Result)
			continue
		}
		out.WriteString(" " + kind + ":" + s.Result)
		last = kind
	}
	return strings.TrimSpace(out.String())
}

func TestLimitsOfTheRealConfiguration(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	use := func(token string, want int) {
		t.Helper()
		if got := s.call(t, http.MethodPost, chat, authorization(token)); got.status != want {
			t.Fatalf("%s: status %d (%s), want %d", token, got.status, got.text, want)
		}
	}
	use("alice/"+hundred, 200)
	use("alice/"+hundred, 200) // This one crosses the limit.
	use("alice/"+hundred, 429)
	use("bob/"+hundred, 200)
	use("alice/"+thousand, 200)
	if got, want := s.counters(t), "alice "+thousand+" 1000/60=60, alice "+thousand+" 100000/86400=60, alice "+hundred+" 100/60=120, bob "+hundred+" 100/60=60"; got != want {
		t.Errorf("counters\n%s, want\n%s", got, want)
	}
	if code := s.ask(t, http.MethodPut, "/clock", "60s", nil); code != http.StatusNoContent {
		t.Fatalf("setting the clock answers %d", code)
	}
	if got, want := s.counters(t), "alice "+thousand+" 100000/86400=60"; got != want {
		t.Errorf("counters after a minute\n%s, want\n%s", got, want)
	}
	use("alice/"+hundred, 200)
	use("alice/"+hundred, 200)
	use("alice/"+hundred, 429)
	s.ask(t, http.MethodDelete, "/counters", "", nil)
	use("alice/"+hundred, 200)
}

func TestTwoCallersAtATime(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	started, release := make(chan struct{}), make(chan struct{})
	s.model = func(w http.ResponseWriter, _ *http.Request) {
		started <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"usage": {"total_tokens": 100}}`)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
				t.Errorf("status %d", got.status)
			}
		})
	}
	<-started
	<-started // Both have passed the check before either is counted.
	close(release)
	all.Wait()
	if got, want := s.counters(t), "alice "+hundred+" 100/60=200"; got != want {
		t.Errorf("counters %s, want %s", got, want)
	}
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusTooManyRequests {
		t.Errorf("status %d", got.status)
	}
}

func TestPathBeforeAndAfterTheRoute(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	got := s.call(t, http.MethodPost, chat+"?a=b", http.Header{"Authorization": {"Bearer alice/" + unlimited}, "X-User": {"root", "admin"}})
	if want := `{"original":"/llm/granite/v1/chat/completions?a=b","path":"/v1/chat/completions","usage":{"total_tokens":60},"users":["alice"]}`; got.text != want {
		t.Errorf("the model sees %s, want %s", got.text, want)
	}
	if len(s.scopes) != 1 || len(s.scopes[0]) != 64 {
		t.Errorf("Authorino is asked by the scopes %q", s.scopes)
	}
}

func TestDenialReachesTheClient(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+chat, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = "maas.example.com", authorization("no")
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if h := response.Header; response.StatusCode != http.StatusForbidden || h.Get("X-Reason") != "no" || len(h["Content-Type"]) != 1 || h.Get("Content-Type") != "application/json" {
		t.Errorf("%s with %v", response.Status, h)
	}
}

func TestConfigurationThatComesAndGoes(t *testing.T) {
	t.Parallel()
	envoyFilter, limitador := generatedObjects(t)
	s := engineStage(t)
	passes := func(want string) {
		t.Helper()
		got := s.call(t, http.MethodPost, chat, http.Header{"X-Request-Id": {want}})
		if d := s.decision(t, want); got.status != http.StatusOK || d.Outcome != filter.OutcomeUnconfigured || d.Status != 0 {
			t.Fatalf("status %d (%s), %+v", got.status, got.text, d)
		}
	}
	passes("before")
	filters, limits := s.objects.Resource(filterResource).Namespace("openshift-ingress"), s.objects.Resource(limiterResource).Namespace("kuadrant-system")
	// Of another gateway, and of another namespace.
	other := envoyFilter.DeepCopy()
	other.SetName("kuadrant-other")
	create(t, filters, other)
	create(t, filters, envoyFilter)
	create(t, limits, limitador)
	s.until(t, "the configuration is there", func(now state) bool { return now.ActionSets == 4 && now.Limits == 4 })
	if got := s.call(t, http.MethodPost, chat, authorization("no")); got.status != http.StatusForbidden {
		t.Errorf("status %d with the configuration", got.status)
	}
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
		t.Errorf("status %d with the configuration", got.status)
	}

	changed := limitador.DeepCopy()
	changed.SetResourceVersion("2")
	list, _, err := unstructured.NestedSlice(changed.Object, "spec", "limits")
	if err != nil {
		t.Fatal(err)
	}
	list[3].(map[string]any)["max_value"] = int64(60)
	if err := unstructured.SetNestedSlice(changed.Object, list, "spec", "limits"); err != nil {
		t.Fatal(err)
	}
	if _, err := limits.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the limit is changed", func(now state) bool { return now.Limitador == "2" })
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusTooManyRequests {
		t.Errorf("status %d with a limit of what has been used", got.status)
	}

	if err := limits.Delete(t.Context(), "limitador", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the limits are gone", func(now state) bool { return now.Limits == 0 })
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
		t.Errorf("status %d without limits", got.status)
	}
	if err := filters.Delete(t.Context(), envoyFilter.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, "the configuration is gone", func(now state) bool { return now.EnvoyFilter == "" })
	passes("after")
}

func create(t *testing.T, in dynamic.ResourceInterface, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := in.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurationThatCannotBeExecuted(t *testing.T) {
	t.Parallel()
	change := func(t *testing.T, o *unstructured.Unstructured, edit func(map[string]any), list ...string) {
		t.Helper()
		all, _, err := unstructured.NestedSlice(o.Object, list...)
		if err != nil {
			t.Fatal(err)
		}
		edit(all[0].(map[string]any))
		if err := unstructured.SetNestedSlice(o.Object, all, list...); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		patch, limit func(map[string]any)
		want         string
	}{
		"an unknown function": {patch: func(p map[string]any) {
			text, _, _ := unstructured.NestedString(p, configurationPath...)
			_ = unstructured.SetNestedField(p, strings.ReplaceAll(text, "endsWith", "endswith"), configurationPath...)
		}, want: "endswith"},
		"no text":              {patch: func(p map[string]any) { unstructured.RemoveNestedField(p, configurationPath...) }, want: "no configuration"},
		"an unknown limit":     {limit: func(l map[string]any) { l["burst"] = "1" }, want: "burst"},
		"a limit that is none": {limit: func(l map[string]any) { l["conditions"] = []any{"auth.identity"} }, want: "undeclared reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			envoyFilter, limitador := generatedObjects(t)
			if tc.patch != nil {
				change(t, envoyFilter, tc.patch, "spec", "configPatches")
			} else {
				change(t, limitador, tc.limit, "spec", "limits")
			}
			s := engineStage(t, envoyFilter, limitador)
			got := s.call(t, http.MethodPost, chat, http.Header{"Authorization": {"Bearer alice/" + unlimited}, "X-Request-Id": {"r"}})
			if got.status != http.StatusInternalServerError || !strings.Contains(got.text, tc.want) || !strings.Contains(s.state(t).Error, tc.want) {
				t.Errorf("status %d (%s), state %+v", got.status, got.text, s.state(t))
			}
			if d := s.decision(t, "r"); d.Outcome != filter.OutcomeMisconfigured || d.Status != got.status || !strings.Contains(d.Error, tc.want) {
				t.Errorf("decision %+v", d)
			}
		})
	}
}

func TestServicesThatAreDown(t *testing.T) {
	t.Parallel()
	s := enforced(t)
	s.ask(t, http.MethodPut, "/limiter", "down", nil)
	if got := s.call(t, http.MethodPost, chat, authorization("alice/"+hundred)); got.status != http.StatusOK {
		t.Errorf("status %d without a limiter, which is allowed", got.status)
	}
	s.ask(t, http.MethodPut, "/limiter", "up", nil)
	if got := s.counters(t); got != "" {
		t.Errorf("counters %s", got)
	}
	s.grpc.Stop()
	got := s.call(t, http.MethodPost, chat, http.Header{"Authorization": {"Bearer alice/" + hundred}, "X-Request-Id": {"r"}})
	if d := s.decision(t, "r"); got.status != http.StatusInternalServerError || got.text != "Internal Server Error." || resultsOf(d) != "auth:failed" {
		t.Errorf("status %d (%s) without an authorization server: %+v", got.status, got.text, d)
	}
}

// streaming lets a test hand out a reply piece by piece; the channel closes when the
// gateway has gone.
func (s *stage) streaming(pieces <-chan string) <-chan struct{} {
	gone := make(chan struct{})
	s.model = func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case piece, more := <-pieces:
				if !more {
					return
				}
				fmt.Fprint(w, piece)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	return gone
}

func TestStream(t *testing.T) {
	t.Parallel()
	for name, abort := range map[string]bool{"to its end": false, "until the client goes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enforced(t)
			pieces := make(chan string)
			gone := s.streaming(pieces)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+chat, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host, r.Header = "maas.example.com", authorization("alice/"+hundred)
			r.Header.Set("X-Request-Id", "r")
			go func() { pieces <- "data: {\"usage\":{\"total_tokens\":3}}\n\n" }()
			response, err := s.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			reader := bufio.NewReader(response.Body)
			if line, err := reader.ReadString('\n'); err != nil || line != "data: {\"usage\":{\"total_tokens\":3}}\n" {
				t.Fatalf("the first piece is %q (%v)", line, err)
			}
			if abort {
				cancel()
				<-gone
				s.until(t, "the reply is broken off", func(state) bool { return s.decision(t, "r").Reply == filter.ReplyAborted })
				if got := s.counters(t); got != "" {
					t.Errorf("counters %s", got)
				}
				return
			}
			pieces <- "data: {\"usage\":{\"total_tokens\":42}}\n\n"
			pieces <- "data: [DONE]\n\n"
			close(pieces)
			if _, err := io.Copy(io.Discard, reader); err != nil {
				t.Fatal(err)
			}
			if got, want := s.counters(t), "alice "+hundred+" 100/60=42"; got != want || s.decision(t, "r").Reply != filter.ReplyComplete {
				t.Errorf("counters %s, want %s; %+v", got, want, s.decision(t, "r"))
			}
		})
	}
}

func TestAdminRefusesNonsense(t *testing.T) {
	t.Parallel()
	s := engineStage(t)
	for _, tc := range []struct{ method, path, body string }{
		{http.MethodPut, "/clock", "soon"}, {http.MethodPut, "/limiter", "off"}, {http.MethodGet, "/requests?n=many", ""}, {http.MethodGet, "/requests?n=-1", ""},
	} {
		if code := s.ask(t, tc.method, tc.path, tc.body, nil); code != http.StatusBadRequest {
			t.Errorf("%s %s answers %d", tc.method, tc.path, code)
		}
	}
	for i := range 3 {
		s.call(t, http.MethodGet, "/", http.Header{"X-Request-Id": {fmt.Sprint("r", i)}})
	}
	var last []filter.Decision
	if s.ask(t, http.MethodGet, "/requests?n=2", "", &last); len(last) != 2 || last[0].ID != "r2" || last[1].ID != "r1" {
		t.Errorf("the last two are %+v", last)
	}
	if s.ask(t, http.MethodDelete, "/requests", "", nil); s.ask(t, http.MethodGet, "/requests", "", &last) != http.StatusOK || len(last) != 0 {
		t.Errorf("%d decisions are left", len(last))
	}
}

func TestCommandLineOfTheEngine(t *testing.T) {
	t.Parallel()
	good := []string{"--kubeconfig=k", "--engine", "--authorino=127.0.0.1:50051"}
	for name, tc := range map[string]struct {
		args []string
		want string // In the error; empty: none.
	}{
		"enough":                     {good, ""},
		"an admin address":           {append(good, "--admin=127.0.0.1:0", "--admin-address-file=f"), ""},
		"no Authorino":               {good[:2], "--authorino is required"},
		"Authorino elsewhere":        {append(good[:2:2], "--authorino=10.0.0.1:50051"), "no loopback address"},
		"an admin address elsewhere": {append(good, "--admin=0.0.0.0:1"), "no loopback address"},
		"identities as well":         {append(good, "--identities=i"), "no meaning with --engine=true"},
		"maas-api as well":           {append(good, "--maas-api=https://127.0.0.1:1"), "no meaning with --engine=true"},
		"half a Limitador":           {append(good, "--limitador=limitador"), "write <namespace>/<name>"},
		"Authorino without engine":   {[]string{"--kubeconfig=k", "--maas-api=u", "--identities=i", "--authorino=127.0.0.1:1"}, "no meaning with --engine=false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(append([]string{}, tc.args...), &bytes.Buffer{})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
