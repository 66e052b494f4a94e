// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/nudge"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

// nudgePatience is how long policies wait here until Kuadrant is nudged: longer than
// whatever its stand-in needs by itself.
const nudgePatience = 3 * time.Second

var _ = Describe("a tenant of whose policy Kuadrant lost the status", Ordered, func() {
	var olive tenantOf
	// nudged are the nudges of all routes by name: any route will do.
	nudged := func() map[string]string {
		var routes gwapiv1.HTTPRouteList
		Expect(suite.Admin.List(olive.ctx, &routes)).To(Succeed())
		nudges := map[string]string{}
		for i := range routes.Items {
			if at := routes.Items[i].Annotations[v1alpha1.AnnotationNudgedAt]; at != "" {
				nudges[routes.Items[i].Name] = at
				Expect(routes.Items[i].ManagedFields).To(ContainElement(HaveField("Manager", v1alpha1.FieldOwnerNudge)))
			}
		}
		return nudges
	}
	BeforeAll(func(ctx SpecContext) {
		provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
		suite.Operate(ctx, rig.Manager{Written: written(), SetUp: func(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
			r := &nudge.Reconciler{Client: mgr.GetClient(), APIs: apis, Clock: clock.RealClock{}, Patience: nudgePatience}
			return errors.Join(setUp(ctx, mgr, apis), r.SetupWithManager(ctx, mgr))
		}})
		olive = newTenant(ctx, "olive")
		Eventually(olive.state).Should(Equal(works))
	})

	It("is no reason for anything while nothing is lost", func() {
		before := nudged()
		Consistently(nudged).WithTimeout(nudgePatience + nudgePatience/2).Should(Equal(before))
	})

	It("works again, because Kuadrant is nudged once", func(ctx SpecContext) {
		before, lost := nudged(), client.ObjectKeyFromObject(policyOf(olive))
		suite.policies.Lose(kuadrant.AuthPolicy, lost)
		Expect(suite.Admin.Delete(ctx, policyOf(olive))).To(Succeed())
		Eventually(func() bool { return suite.policies.Lost(kuadrant.AuthPolicy, lost) }).Should(BeTrue())
		Eventually(nudged).ShouldNot(Equal(before))
		Eventually(olive.state).Should(Equal(works))
		once := nudged()
		Consistently(nudged).WithTimeout(2 * nudgePatience).Should(Equal(once))
		Expect(stateOf(olive)()).To(Equal(routeOpen))
	})

	It("can be removed", func(ctx SpecContext) {
		Expect(suite.Admin.Delete(ctx, olive.object())).To(Succeed())
		Eventually(olive.state).WithTimeout(2 * tenantconfig.HandBackDelay).Should(Equal("gone"))
	})
})
