// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/authpolicy"
	"github.com/opendatahub-io/maas-operator/controllers/modelpolicy"
	"github.com/opendatahub-io/maas-operator/controllers/subscription"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/standins/gateway"
	standin "github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestModelPolicies(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(10 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "policies of a model on a real API server")
}

// Fixed names of the suite.
const (
	tenantNamespace  = "models-as-a-service"
	gatewayNamespace = "openshift-ingress"
	gatewayName      = "maas-default-gateway"
)

// suite is what all specs use: one API server, the controllers under test as
// the operator's own identity, and the stand-ins for its neighbours.
var suite struct {
	env      *testenv.Env
	admin    client.Client
	kuadrant *standin.Kuadrant
}

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	suite.env = env

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(inferencev1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(gwapiv1.Install(scheme)).To(Succeed())
	suite.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	prepareCluster(ctx)

	suite.kuadrant, err = standin.Start(ctx, env.AdminConfig(), standin.Options{Lag: standin.Between(10*time.Millisecond, 50*time.Millisecond)})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(suite.kuadrant.Stop)
	gateways, err := gateway.Start(ctx, env.AdminConfig(), gateway.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(gateways.Stop)

	config, err := env.OperatorConfig(ctx)
	Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(setUp(ctx, mgr)).To(Succeed())
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(run) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Should(Receive(Succeed()))
	})
})

// setUp registers the three controllers of the slice as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager) error {
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	if err != nil {
		return err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	apis := facts.NewOptionalAPIs(discover)
	tenants := lookup.Tenants{Reader: mgr.GetClient(), Settings: tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: gatewayNamespace, Name: gatewayName},
		DefaultNamespace: tenantNamespace, AITenantNamespace: "ai-tenants", Discovery: true,
	}}
	policies := &modelpolicy.Reconciler{
		Client: mgr.GetClient(), Applier: apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}), Engine: engine, Tenants: tenants, APIs: apis,
		Settings: model.Settings{InfraNamespace: "odh-ai-gateway-infra", Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60},
		Events:   mgr.GetEventRecorder("maas-modelpolicy-controller"), MaxConcurrentReconciles: 2,
	}
	authPolicies := &authpolicy.Reconciler{Client: mgr.GetClient(), Tenants: tenants, Events: mgr.GetEventRecorder("maas-authpolicy-controller"), MaxConcurrentReconciles: 2}
	subscriptions := &subscription.Reconciler{Client: mgr.GetClient(), Tenants: tenants, Events: mgr.GetEventRecorder("maas-subscription-controller"), MaxConcurrentReconciles: 4}
	if err := policies.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	if err := authPolicies.SetupWithManager(ctx, mgr, apis); err != nil {
		return err
	}
	if err := subscriptions.SetupWithManager(ctx, mgr, apis); err != nil {
		return err
	}
	return apis.SetupWithManager(mgr)
}
