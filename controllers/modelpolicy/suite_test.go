// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/rig/models"
	standin "github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestModelPolicies(t *testing.T) {
	rig.Specs(t, "policies of a model on a real API server", 20*time.Second)
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
	suite.Operate(ctx, rig.Manager{SetUp: models.SetUp})
})
