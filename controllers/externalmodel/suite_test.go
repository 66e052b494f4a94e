// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/externalmodel"
	"github.com/opendatahub-io/maas-operator/controllers/modelref"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/rig/models"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestExternalModels(t *testing.T) {
	rig.Specs(t, "models of providers on a real API server", 30*time.Second)
}

// suite is what all specs use: one API server with its garbage collector, stand-ins for
// Kuadrant and the gateway controller, and the controllers that together bring a model of
// a provider to the Gateway. Istio comes when the operator runs already.
var suite *rig.Rig

var _ = BeforeSuite(func(ctx SpecContext) {
	suite = rig.Start(ctx, rig.Options{
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant}, Controllers: true,
		Refused: audit.ByResource("", "secrets"), // The right to look at them is a namespace's to give.
	})
	models.CreateTenant(ctx, suite)
	suite.StartStandIns(ctx)
	suite.Operate(ctx, rig.Manager{SetUp: setUp, Written: []client.Object{&corev1.Service{}}})
	istioComesLate(ctx)
})

// setUp registers the controllers as the manager does.
func setUp(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	if err := models.SetUp(ctx, mgr, apis); err != nil {
		return err
	}
	tenants, applier := models.Tenants(mgr.GetClient()), apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()})
	refs := &modelref.Reconciler{Client: mgr.GetClient(), Applier: applier, Tenants: tenants, APIs: apis, Events: mgr.GetEventRecorder("maas-modelref-controller")}
	if err := refs.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	r := &externalmodel.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Applier: applier, Engine: parts.Engine(GinkgoTB()), Tenants: tenants, APIs: apis,
		Events: mgr.GetEventRecorder("maas-externalmodel-controller"), Clock: clock.RealClock{}, MaxConcurrentReconciles: 4,
	}
	return r.SetupWithManager(ctx, mgr)
}

// istioComesLate shows that a route leads nowhere while the Gateway could not reach the
// provider, and that nothing has to be restarted for it.
func istioComesLate(ctx SpecContext) {
	GinkgoHelper()
	w := newWorld(ctx)
	w.create(w.model("early"))
	Eventually(w.says("early")).Should(Equal("Pending/APIMissing"))
	Expect(w.message("early", "Ready")()).To(And(ContainSubstring("serviceentries.networking.istio.io"), ContainSubstring("destinationrules.networking.istio.io")))
	Expect(w.leading("maas-early")()).To(Equal("0 of 1"))
	Expect(suite.Env.InstallCRDs(ctx, testenv.Istio)).To(Succeed())
	Eventually(w.says("early")).Should(Equal("Pending/RouteNotGuarded"))
	Eventually(w.exists(w.entry("early"))).Should(BeTrue())
	w.remove(w.model("early"))
}
