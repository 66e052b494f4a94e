// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestAITenants(t *testing.T) { rig.Specs(t, "tenants on a real API server", 20*time.Second) }

// Fixed names of the suite.
const (
	defaultNamespace  = "models-as-a-service"
	aitenantNamespace = "ai-tenants"
	infraNamespace    = "odh-ai-gateway-infra"
	gatewayNamespace  = "openshift-ingress"
	defaultGateway    = "maas-default-gateway"
)

// suite is what all specs use: one API server with its garbage collector, and the
// controller under test. The tests play the controller of MaasTenantConfigs and that of
// Jobs' Pods.
var suite *rig.Rig

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = rig.Start(ctx, rig.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI}, Controllers: true})
	suite.CreateNamespaces(ctx, aitenantNamespace, infraNamespace, gatewayNamespace)
	suite.Operate(ctx, rig.Manager{SetUp: setUp, Written: []client.Object{&corev1.ConfigMap{}, &rbacv1.Role{}, &batchv1.Job{}}})
})

// setUp registers the controller as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	r := &aitenant.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Engine: parts.Engine(GinkgoTB()), APIs: apis,
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
	return r.SetupWithManager(ctx, mgr)
}

// deletionTimeout is long enough for every deletion that is not stuck.
const deletionTimeout = 10 * time.Minute
