// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tenant = "blue"
	home   = "blue-ns"
	// host is one that the certificate of httptest is for.
	host   = "maas.example.com"
	secret = "sk-oai-do-not-print-me"
)

// born is when all models were created.
var born = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

type (
	modelOption        func(*v1alpha1.MaaSModelRef)
	subscriptionOption func(*v1alpha1.MaaSSubscription)
)

// model is a Ready one of the cluster at https://maas.example.com/llm/<name>.
func model(name string, change ...modelOption) *v1alpha1.MaaSModelRef {
	m := &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: "llm", Name: name, CreationTimestamp: metav1.NewTime(born)}}
	m.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendLLMInferenceService, Name: name}
	m.Status = v1alpha1.MaaSModelRefStatus{Phase: v1alpha1.ModelPhaseReady, Endpoint: "https://" + host + "/llm/" + name}
	for _, f := range change {
		f(m)
	}
	return m
}

func at(endpoint string) modelOption {
	return func(m *v1alpha1.MaaSModelRef) { m.Status.Endpoint = endpoint }
}

func alias(name string) modelOption {
	return func(m *v1alpha1.MaaSModelRef) { m.Status.ResolvedModelAlias = name }
}

func in(namespace string) modelOption {
	return func(m *v1alpha1.MaaSModelRef) { m.Namespace = namespace }
}

func external(backend string) modelOption {
	return func(m *v1alpha1.MaaSModelRef) {
		m.Spec.ModelRef = v1alpha1.BackendReference{Kind: v1alpha1.BackendExternalModel, Name: backend}
	}
}

func phase(p v1alpha1.ModelPhase) modelOption {
	return func(m *v1alpha1.MaaSModelRef) { m.Status.Phase = p }
}

func annotated(pairs ...string) modelOption {
	return func(m *v1alpha1.MaaSModelRef) {
		m.Annotations = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m.Annotations[pairs[i]] = pairs[i+1]
		}
	}
}

// subscription is an Active one of group team that includes models.
func subscription(name string, models []*v1alpha1.MaaSModelRef, change ...subscriptionOption) *v1alpha1.MaaSSubscription {
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name, Generation: 1}}
	s.Spec.Owner.Groups = []v1alpha1.GroupReference{{Name: "team"}}
	s.Status = v1alpha1.MaaSSubscriptionStatus{ObservedGeneration: 1, Phase: v1alpha1.PhaseActive, RateLimitIdentity: v1alpha1.RateLimitIdentityShort}
	for _, m := range models {
		ref := v1alpha1.ResourceRefStatus{Namespace: m.Namespace, Name: m.Name, Ready: true}
		s.Spec.ModelRefs = append(s.Spec.ModelRefs, v1alpha1.ModelSubscription{
			Namespace: m.Namespace, Name: m.Name, TokenRateLimits: []v1alpha1.TokenRateLimit{{Limit: 100, Window: "1m"}},
		})
		s.Status.ModelRefStatuses = append(s.Status.ModelRefStatuses, v1alpha1.ModelRefStatus{ResourceRefStatus: ref})
		ref.Name = "maas-trlp-" + m.Name
		s.Status.TokenRateLimitStatuses = append(s.Status.TokenRateLimitStatuses, v1alpha1.TokenRateLimitStatus{ResourceRefStatus: ref, Model: m.Name})
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// world is a tenant: everybody may use all models, by policy.
type world struct {
	models        []*v1alpha1.MaaSModelRef
	subscriptions []*v1alpha1.MaaSSubscription
	denied        string // A model that no policy grants.
}

// gold is a world with one subscription to all its models.
func gold(models ...*v1alpha1.MaaSModelRef) world {
	return world{models: models, subscriptions: []*v1alpha1.MaaSSubscription{subscription("gold", models)}}
}

func (w world) index() *entitlement.Index {
	var f entitlement.Facts
	policy := &v1alpha1.MaaSAuthPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "all"}}
	policy.Spec.Subjects.Groups = []v1alpha1.GroupReference{{Name: entitlement.AuthenticatedGroup}}
	for _, m := range w.models {
		f.Models = append(f.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: m, Tenant: tenant})
		if m.Name != w.denied {
			policy.Spec.ModelRefs = append(policy.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: m.Namespace, Name: m.Name})
		}
	}
	for _, s := range w.subscriptions {
		f.Subscriptions = append(f.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: s, Tenant: tenant})
	}
	f.AuthPolicies = append(f.AuthPolicies, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: policy, Tenant: tenant})
	return entitlement.NewIndex(tenant, f)
}

// query is that of a member of group team with a token.
func (w world) query() catalog.Query {
	caller, err := entitlement.FromToken("alice", []string{"team"})
	if err != nil {
		panic(err)
	}
	return catalog.Query{Index: w.index(), Caller: caller, Credential: catalog.NewCredential("Bearer "+secret, "")}
}

// gateway plays the tenant's gateway and the models behind it.
type gateway struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
}

// newGateway serves models by path; everything else is 404.
func newGateway(tb testing.TB, models map[string]http.HandlerFunc) *gateway {
	tb.Helper()
	g := &gateway{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.requests = append(g.requests, r.Clone(context.WithoutCancel(r.Context())))
		g.mu.Unlock()
		serve := models[r.URL.Path]
		if serve == nil {
			serve = models["*"]
		}
		if serve == nil {
			http.NotFound(w, r)
			return
		}
		serve(w, r)
	}))
	g.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	g.StartTLS()
	tb.Cleanup(g.Close)
	return g
}

// asked are "<host> <path>" of the requests so far.
func (g *gateway) asked() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for _, r := range g.requests {
		out = append(out, r.Host+" "+r.URL.Path)
	}
	return out
}

func (g *gateway) address() string { return g.Listener.Addr().String() }

func (g *gateway) roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(g.Certificate())
	return roots
}

// status answers with a status and nothing else.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func body(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

// hang answers nothing until the client is gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// found is a fixed address of the gateway, or an error.
type found struct {
	address string
	err     error
}

func (f found) GatewayAddress(context.Context) (string, error) { return f.address, f.err }

// logbook collects what is logged, at every level.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// bench is a catalog with what can be seen of it.
type bench struct {
	*catalog.Catalog

	registry *prometheus.Registry
	log      *logbook
}

// newCatalog asks at the gateway, without pauses worth waiting for.
func newCatalog(tb testing.TB, g *gateway, change ...func(*catalog.Options)) bench {
	tb.Helper()
	b := bench{registry: prometheus.NewRegistry(), log: &logbook{}}
	o := catalog.Options{
		Pause: time.Millisecond, Random: rand.Reader, Clock: clock.RealClock{}, Registerer: b.registry,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if g != nil {
		o.Gateway, o.Roots = found{address: g.address()}, g.roots()
	}
	for _, f := range change {
		f(&o)
	}
	c, err := catalog.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	tb.Cleanup(func() {
		if text := b.log.String(); strings.Contains(text, secret) {
			tb.Errorf("the log has the credential:\n%s", text)
		}
	})
	b.Catalog = c
	return b
}

func (b bench) list(tb testing.TB, q catalog.Query) catalog.Listing {
	tb.Helper()
	l, err := b.List(tb.Context(), q)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// counted is the value of a counter or gauge with one label value, or none.
func (b bench) counted(tb testing.TB, name, label string) float64 {
	tb.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	tb.Fatalf("no metric %s{%s}", name, label)
	return 0
}

// ids are those of the models.
func ids(l catalog.Listing) string {
	var out []string
	for _, m := range l.Models {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

// shown sums a listing up: the check, then "<id>=<owner>(<subscriptions>)".
func shown(l catalog.Listing) string {
	out := []string{string(l.Check)}
	for _, m := range l.Models {
		var through []string
		for _, s := range m.Subscriptions {
			through = append(through, s.Name)
		}
		out = append(out, fmt.Sprintf("%s=%s(%s)", m.ID, m.OwnedBy, strings.Join(through, ",")))
	}
	return strings.Join(out, " ")
}

// movingGateway has the address that it was given last.
type movingGateway struct{ address atomic.Pointer[string] }

func (m *movingGateway) GatewayAddress(context.Context) (string, error) {
	return *m.address.Load(), nil
}

// quiet logs nothing, for benchmarks.
func quiet(o *catalog.Options) { o.Log = slog.New(slog.DiscardHandler) }
