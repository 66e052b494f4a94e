// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var _ = Describe("A MaaSSubscription", func() {
	It("is Active once the gateway enforces its limit (9.5.98)", func(ctx SpecContext) {
		w := newWorld(ctx)
		model := w.model("granite")
		gold := w.subscription("gold").Limit(model, 100, "1m").Obj()
		w.create(gold, w.authPolicy("everyone", model).Obj())
		Eventually(w.phase(gold)).Should(Equal(v1alpha1.PhaseActive))
		Expect(w.limitNames(model)()).To(ConsistOf("tokens-100-per-1m"))
	})
})
