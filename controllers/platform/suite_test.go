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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/platform"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestPlatform(t *testing.T) {
	rig.Specs(t, "the installation on a real API server", 20*time.Second)
}

// Fixed names of the suite.
const (
	controllerNamespace = testenv.OperatorNamespace
	infraNamespace      = "odh-ai-gateway-infra"
	aitenantNamespace   = "ai-tenants"
	tenantNamespace     = "models-as-a-service"
	gatewayName         = "maas-default-gateway"
)

// suite is what all specs use: one API server, and the controller under test. The tests
// play the controllers of tenants, the garbage collector and the platform that asks for
// a teardown.
var suite struct {
	*rig.Rig
	// operator has the operator's rights and reads past the cache.
	operator client.Client
}

var byOperator = audit.ByUser(testenv.OperatorUser)

var _ = BeforeSuite(func(ctx SpecContext) {
	suite.Rig = rig.Start(ctx, rig.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI}})
	var err error
	suite.operator, err = client.New(suite.Operator, client.Options{Scheme: suite.Scheme})
	Expect(err).NotTo(HaveOccurred())
	ensureNamespace(ctx, tenantNamespace)
	suite.Operate(ctx, rig.Manager{SetUp: setUp, Written: []client.Object{&networkingv1.NetworkPolicy{}, &rbacv1.ClusterRole{}, &corev1.ConfigMap{}}})
})

// setUp registers the controller as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager, _ *facts.OptionalAPIs) error {
	r := &platform.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Engine: parts.Engine(GinkgoTB()),
		Applier: apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Settings: platform.Settings{
			ControllerNamespace: controllerNamespace, InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace,
			DefaultTenantNamespace: tenantNamespace, GatewayNamespace: "openshift-ingress", GatewayName: gatewayName, Platform: "kubernetes",
		},
		Events: mgr.GetEventRecorder("maas-platform-controller"),
	}
	return r.SetupWithManager(ctx, mgr)
}
