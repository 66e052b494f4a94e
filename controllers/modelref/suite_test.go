// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/controllers/modelref"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestModelRefs(t *testing.T) {
	rig.Specs(t, "status of a model on a real API server", 20*time.Second)
}

// Fixed names of the suite.
const (
	tenantNamespace   = "models-as-a-service"
	aitenantNamespace = "ai-tenants"
	gatewayNamespace  = "openshift-ingress"
	gatewayName       = "maas-default-gateway"
	otherGatewayName  = "other-gateway"
	host              = "maas.example.com"
	otherHost         = "other.example.com"
)

// suite is what all specs use: one API server, and the controller under test. The tests
// play KServe and the gateway.
var suite *rig.Rig

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = rig.Start(ctx, rig.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.KServe}})
	prepareCluster(ctx)
	suite.Operate(ctx, rig.Manager{SetUp: setUp})
})

// setUp registers the controller as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &modelref.Reconciler{
		Client:  mgr.GetClient(),
		Applier: apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Tenants: lookup.Tenants{Reader: mgr.GetClient(), Settings: tenancy.Settings{
			Gateway:          types.NamespacedName{Namespace: gatewayNamespace, Name: gatewayName},
			DefaultNamespace: tenantNamespace, AITenantNamespace: aitenantNamespace, Discovery: true,
		}},
		APIs:   apis,
		Events: mgr.GetEventRecorder("maas-modelref-controller"),
	}
	return r.SetupWithManager(ctx, mgr)
}
