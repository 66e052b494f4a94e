// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestAITenants(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "tenants on a real API server")
}

// Fixed names of the suite.
const (
	defaultNamespace  = "models-as-a-service"
	aitenantNamespace = "ai-tenants"
	infraNamespace    = "odh-ai-gateway-infra"
	gatewayNamespace  = "openshift-ingress"
	defaultGateway    = "maas-default-gateway"
)

// suite is what all specs use: one API server with its garbage collector, and the
// controller under test as the operator's own identity. The tests play the controller
// of MaasTenantConfigs and that of Jobs' Pods.
var suite struct {
	env   *testenv.Env
	admin client.Client
}

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI}, Controllers: true, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	suite.env = env

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gwapiv1.Install} {
		Expect(add(scheme)).To(Succeed())
	}
	suite.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	prepareCluster(ctx)

	config, err := env.OperatorConfig(ctx)
	Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache:   cache.Options{ByObject: written()},
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

// The operator's rights suffice: after all specs, the API server refused nothing.
var _ = AfterSuite(func() {
	if suite.env == nil {
		return // It did not start, which has been reported.
	}
	events, err := suite.env.Audit().Events(byOperator, audit.Forbidden())
	Expect(err).NotTo(HaveOccurred())
	Expect(events).To(BeEmpty(), "requests of the operator that were forbidden")
})

// written restricts the cache as the manager does: of these kinds, objects of others
// are not in it.
func written() map[client.Object]cache.ByObject {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})}
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: ours, &rbacv1.Role{}: ours, &batchv1.Job{}: ours}
}

// setUp registers the controller as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager) error {
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	if err != nil {
		return err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	apis := facts.NewOptionalAPIs(discover)
	r := &aitenant.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Engine: engine, APIs: apis,
		Applier: apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Settings: aitenant.Settings{
			Tenancy: tenancy.Settings{
				Gateway:          types.NamespacedName{Namespace: gatewayNamespace, Name: defaultGateway},
				DefaultNamespace: defaultNamespace, AITenantNamespace: aitenantNamespace, Discovery: true,
			},
			Tenant: tenant.Settings{
				Platform: tenant.OpenShift, ControllerNamespace: "opendatahub",
				InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace,
			},
		},
		Events: mgr.GetEventRecorder("maas-aitenant-controller"), Clock: clock.RealClock{},
		DeletionTimeout: deletionTimeout, MaxConcurrentReconciles: 4,
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	return apis.SetupWithManager(mgr)
}

// deletionTimeout is long enough for every deletion that is not stuck.
const deletionTimeout = 10 * time.Minute
