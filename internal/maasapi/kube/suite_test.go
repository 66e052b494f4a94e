// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestOnARealAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "what maas-api asks of a real API server")
}

const (
	tenant           = "models-as-a-service"
	gatewayNamespace = "openshift-ingress"
	infraNamespace   = "odh-ai-gateway-infra"
	modelNamespace   = "llm"
)

// account is what maas-api runs as in a development install.
func account() testenv.Account {
	return testenv.Account{Namespace: infraNamespace, Name: "maas-api", Manifests: "config/maas-api/rbac"}
}

// suite is one API server, without our CRDs at first, and two caches: one that keeps
// answering from what it knows, and one with a bound.
var suite struct {
	env               *testenv.Env
	admin             client.Client
	config            *rest.Config
	clients           *kube.Clients
	log               journal
	registry          *prometheus.Registry
	patient, cautious *kube.Cache
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Times of the cautious cache.
const (
	checkInterval = time.Second
	maxAge        = 5 * time.Second
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.GatewayAPI}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	suite.env = env
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gwapiv1.Install} {
		Expect(add(scheme)).To(Succeed())
	}
	suite.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	suite.config, err = env.AccountConfig(ctx, account())
	Expect(err).NotTo(HaveOccurred())
	suite.clients, err = kube.NewClients(suite.config)
	Expect(err).NotTo(HaveOccurred())
	others := goleak.IgnoreCurrent()

	DeferCleanup(func() {
		Eventually(func() error {
			return goleak.Find(others,
				// Connections stay open for the next client of the same configuration.
				goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
				goleak.IgnoreAnyFunction("net/http/internal/http2.(*ClientConn).readLoop"),
				goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
				goleak.IgnoreAnyFunction("github.com/onsi/ginkgo/v2/internal.(*Suite).runNode.func3"),
			)
		}).Should(Succeed(), "goroutines that outlive the caches")
	})
	suite.registry = prometheus.NewRegistry()
	suite.patient = start(ctx, kube.CacheOptions{Registerer: suite.registry})
	suite.cautious = start(ctx, kube.CacheOptions{Registerer: prometheus.NewRegistry(), CheckInterval: checkInterval, MaxAge: maxAge})
})

// start runs a cache until the end of the suite.
func start(ctx context.Context, o kube.CacheOptions) *kube.Cache {
	GinkgoHelper()
	o.Clients, o.Tenant, o.SubscriptionNamespace = suite.clients, tenant, tenant
	o.Clock, o.Log = clock.RealClock{}, slog.New(slog.NewTextHandler(&suite.log, nil))
	cache, err := kube.NewCache(o)
	Expect(err).NotTo(HaveOccurred())
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- cache.Run(run) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Should(Receive(Succeed()))
	})
	return cache
}

// value is that of a metric without labels, or with one.
func value(name, label string) float64 {
	GinkgoHelper()
	families, err := suite.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	Fail("there is no metric " + name)
	return 0
}

// selected is what a member of group engineers gets: the key of the subscription on
// the model, and whether access is allowed, or the code of the refusal.
func selected(cache *kube.Cache, model, subscription string) string {
	snapshot := cache.Snapshot()
	if snapshot == nil {
		return "no snapshot"
	}
	c, err := entitlement.FromToken("alice", []string{"engineers"})
	Expect(err).NotTo(HaveOccurred())
	s, err := snapshot.Index().Select(c, entitlement.Request{Model: model, Subscription: subscription})
	if err != nil {
		return string(refusal(err))
	}
	if !s.AccessAllowed {
		return s.Key + " denied"
	}
	return s.Key
}

func refusal(err error) entitlement.Code {
	GinkgoHelper()
	refused, ok := err.(entitlement.Refusal) //nolint:errorlint // Select wraps nothing.
	Expect(ok).To(BeTrue(), "%v", err)
	return refused.Code
}
