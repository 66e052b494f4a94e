// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
)

var _ = Describe("A route at the gateway of one tenant", func() {
	It("is not taken by a model of another tenant, though governed and first by name (4.3 step 3, decision 8)", func(ctx SpecContext) {
		w := newWorld(ctx)
		red := w.tenant("red")
		w.create(red.route("shared").Obj(), builder.ModelServer(w.namespace, "shared"))
		mine := builder.ModelRef(w.namespace, "shared").Tenant(red.Name).Obj()
		theirs := builder.ModelRef(w.namespace, "a-stranger").Backend(v1alpha1.BackendLLMInferenceService, "shared").Obj()
		w.create(theirs, mine)
		stranger, owner := builder.Key(w.namespace, "a-stranger"), builder.Key(w.namespace, "shared")
		w.create(w.authPolicy("everyone", stranger).Obj(), w.subscription("gold").Limit(stranger, 9, "1m").Obj())
		red.pair(red.namespace.Name, mine)
		Eventually(w.modelVerdict(stranger, v1alpha1.ConditionRouteUnique)).Should(Equal("False/RouteConflict"))
		Eventually(w.limitNames(owner)).Should(ConsistOf("tokens-7-per-1m"))
		Eventually(func() bool { return w.authPolicyOf(stranger) == nil && w.limitPolicy(stranger) == nil }).Should(BeTrue())
		Eventually(w.modelVerdict(owner, v1alpha1.ConditionRouteUnique)).Should(Equal("True/RouteUnique"))
	})

	It("is left by a model whose tenant cannot be told, once another one guards it: never two sets of policies", func(ctx SpecContext) {
		w := newWorld(ctx)
		lost := w.governed("granite")
		w.create(w.subscription("gold").Limit(lost, 7, "1m").Obj())
		Eventually(w.limitNames(lost)).Should(ConsistOf("tokens-7-per-1m"))
		heir := builder.Key(w.namespace, "heir")
		w.create(builder.ModelRef(w.namespace, "heir").Backend(v1alpha1.BackendLLMInferenceService, "granite").Obj(),
			w.authPolicy("heirs", heir).Obj(), w.subscription("silver").Limit(heir, 9, "1m").Obj())
		Eventually(w.modelVerdict(heir, v1alpha1.ConditionRouteUnique)).Should(Equal("False/RouteConflict"))
		unready := w.announce("green")
		ref := builder.ModelRef(w.namespace, "granite").Obj()
		w.edit(ref, func() { ref.Spec.TenantRef = unready.Name })
		Eventually(w.limitNames(heir)).Should(ConsistOf("tokens-9-per-1m"))
		Eventually(func() bool { return w.authPolicyOf(lost) == nil && w.limitPolicy(lost) == nil }).Should(BeTrue())
	})
})
