// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/controllers/priority"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/rig/models"
	standin "github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestContributors(t *testing.T) {
	rig.Specs(t, "auth policies and subscriptions on a real API server", 30*time.Second)
}

// Fixed names of the suite.
const (
	tenantNamespace  = models.TenantNamespace
	gatewayNamespace = models.GatewayNamespace
	gatewayName      = models.GatewayName
)

// suite is what all specs use: one API server, the controllers under test, and the
// stand-ins for their neighbours.
var suite struct {
	*rig.Rig
	kuadrant *standin.Kuadrant
}

var _ = BeforeSuite(func(ctx SpecContext) {
	suite.Rig = rig.Start(ctx, rig.Options{CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant}})
	models.CreateTenant(ctx, suite.Rig)
	suite.kuadrant = suite.StartStandIns(ctx)
	suite.Operate(ctx, rig.Manager{SetUp: setUp})
})

// setUp registers the controllers under test, and the one that writes the policies,
// as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	if err := models.SetUp(ctx, mgr, apis); err != nil {
		return err
	}
	return (&priority.Reconciler{Client: mgr.GetClient(), Tenants: models.Tenants(mgr.GetClient())}).SetupWithManager(mgr)
}
