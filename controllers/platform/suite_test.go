// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/platform"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestPlatform(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "the installation on a real API server")
}

// Fixed names of the suite.
const (
	controllerNamespace = testenv.OperatorNamespace
	infraNamespace      = "odh-ai-gateway-infra"
	aitenantNamespace   = "ai-tenants"
	tenantNamespace     = "models-as-a-service"
	gatewayName         = "maas-default-gateway"
)

// suite is what all specs use: one API server, and the controller under test as the
// operator's own identity. The tests play the controllers of tenants, the garbage
// collector and the platform that asks for a teardown.
var suite struct {
	env   *testenv.Env
	admin client.Client
	// operator has the operator's rights and reads past the cache.
	operator client.Client
}

var byOperator = audit.ByUser(testenv.OperatorUser)

var _ = BeforeSuite(func(ctx SpecContext) {
	env, err := testenv.Start(ctx, testenv.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	suite.env = env

	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, gwapiv1.Install} {
		Expect(add(scheme)).To(Succeed())
	}
	suite.admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	config, err := env.OperatorConfig(ctx)
	Expect(err).NotTo(HaveOccurred())
	suite.operator, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	ensureNamespace(ctx, tenantNamespace)

	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&networkingv1.NetworkPolicy{}: ours, &rbacv1.ClusterRole{}: ours, &corev1.ConfigMap{}: ours,
		}},
	})
	Expect(err).NotTo(HaveOccurred())
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	Expect(err).NotTo(HaveOccurred())
	r := &platform.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(),
		Applier: apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Engine:  engine,
		Settings: platform.Settings{
			ControllerNamespace: controllerNamespace, InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace,
			DefaultTenantNamespace: tenantNamespace, GatewayNamespace: "openshift-ingress", GatewayName: gatewayName, Platform: "kubernetes",
		},
		Events: mgr.GetEventRecorder("maas-platform-controller"),
	}
	Expect(r.SetupWithManager(ctx, mgr)).To(Succeed())
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
