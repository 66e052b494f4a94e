// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestTenantConfigs(t *testing.T) {
	rig.Specs(t, "services of tenants on a real API server", 20*time.Second)
}

// suite is what all specs use: one API server with its controllers, on which
// Deployments become available, and the stand-ins for Kuadrant and the gateway
// controller.
var suite struct {
	*rig.Rig
	// direct and discovery are what operators without a cache are made of.
	direct    client.WithWatch
	discovery discovery.DiscoveryInterface
	policies  *kuadrant.Kuadrant
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite.Rig = rig.Start(ctx, rig.Options{
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino}, Controllers: true,
		Refused: audit.OfTerminatingKind(), // Nobody may create objects of a kind that is being removed.
	})
	var err error
	suite.direct, err = client.NewWithWatch(suite.Operator, client.Options{Scheme: suite.Scheme})
	Expect(err).NotTo(HaveOccurred())
	suite.discovery, err = discovery.NewDiscoveryClientForConfig(suite.Operator)
	Expect(err).NotTo(HaveOccurred())
	prepareCluster(ctx)
	suite.policies = suite.StartStandIns(ctx)
})

// written are kinds of which the manager's cache has what the operator wrote only.
func written() []client.Object {
	return []client.Object{
		&appsv1.Deployment{}, &corev1.Service{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &batchv1.CronJob{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRoleBinding{},
	}
}

// setUp registers the controller as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	return setUpWith(tenantSettings())(ctx, mgr, apis)
}

// setUpWith does so with other settings.
func setUpWith(settings tenant.Settings) func(context.Context, ctrl.Manager, *facts.OptionalAPIs) error {
	return func(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
		return reconciler(mgr, apis, settings).SetupWithManager(ctx, mgr)
	}
}

func reconciler(mgr ctrl.Manager, apis *facts.OptionalAPIs, settings tenant.Settings) *tenantconfig.Reconciler {
	return &tenantconfig.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Engine: parts.Engine(GinkgoTB()), APIs: apis,
		Applier:  apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Tenants:  lookup.Tenants{Reader: mgr.GetClient(), Settings: tenancies()},
		Settings: settings, Clock: clock.RealClock{},
		Events: mgr.GetEventRecorder("maas-tenantconfig-controller"), MaxConcurrentReconciles: 4,
	}
}
