// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestTenantConfigs(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "services of tenants on a real API server")
}

// suite is what all specs use: one API server with its controllers, on which
// Deployments become available, and the stand-ins for Kuadrant and the gateway
// controller.
var suite struct {
	env    *testenv.Env
	admin  client.Client
	config *rest.Config
	// direct, engine and discovery are what operators without a cache are made of.
	direct    client.WithWatch
	engine    *render.Engine
	discovery discovery.DiscoveryInterface
	policies  *kuadrant.Kuadrant
}

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino}, Controllers: true, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	suite.env = env
	scheme, err := makeScheme()
	Expect(err).NotTo(HaveOccurred())
	suite.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	suite.config, err = env.OperatorConfig(ctx)
	Expect(err).NotTo(HaveOccurred())
	suite.direct, err = client.NewWithWatch(suite.config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	suite.engine, err = makeEngine()
	Expect(err).NotTo(HaveOccurred())
	suite.discovery, err = discovery.NewDiscoveryClientForConfig(suite.config)
	Expect(err).NotTo(HaveOccurred())
	prepareCluster(ctx)

	policies, err := kuadrant.Start(ctx, env.AdminConfig(), kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 50*time.Millisecond)})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(policies.Stop)
	suite.policies = policies
	gateways, err := gateway.Start(ctx, env.AdminConfig(), gateway.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gateways.Stop)
})

// The operator's rights suffice: after all specs, the API server refused nothing but
// what nobody may: to create objects of a kind that is being removed.
var _ = AfterSuite(func() {
	if suite.env == nil {
		return // It did not start, which has been reported.
	}
	events, err := suite.env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden(), audit.Not(audit.OfTerminatingKind()))
	Expect(err).NotTo(HaveOccurred())
	Expect(events).To(BeEmpty(), "requests of the operator that were forbidden")
})

// startOperator runs the controller under test as the operator's own identity.
func startOperator(ctx context.Context) {
	GinkgoHelper()
	scheme, err := makeScheme()
	Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(suite.config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(setUp(ctx, mgr)).To(Succeed())
	run(ctx, mgr)
}

// run starts a manager and stops it after the specs that need it.
func run(ctx context.Context, mgr ctrl.Manager) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Should(Receive(Succeed()))
	})
}

// setUp registers the controller as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager) error {
	apis := facts.NewOptionalAPIs(suite.discovery)
	r := &tenantconfig.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Engine: suite.engine, APIs: apis,
		Applier:  apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Tenants:  lookup.Tenants{Reader: mgr.GetClient(), Settings: tenancies()},
		Settings: tenantSettings(), Clock: clock.RealClock{},
		Events: mgr.GetEventRecorder("maas-tenantconfig-controller"), MaxConcurrentReconciles: 4,
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	return apis.SetupWithManager(mgr)
}
