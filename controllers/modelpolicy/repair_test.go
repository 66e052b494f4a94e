// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var _ = Describe("A repair", func() {
	It("is told on the model, and a change of the operator's own is none", func(ctx SpecContext) {
		m := newModel(ctx)
		m.subscribe("first", rated(1, "1m"))
		Eventually(m.limitNames).Should(ConsistOf("tokens-1-per-1m"))
		m.subscribe("second", rated(2, "1m"))
		Eventually(m.limitNames).Should(ConsistOf("tokens-1-per-1m", "tokens-2-per-1m"))
		m.allow("team", "engineers")
		Eventually(m.authPolicy).ShouldNot(BeNil())
		Expect(suite.Admin.Patch(ctx, m.authPolicy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"rules":{"authentication":{"anyone":{"anonymous":{}}}}}}`)))).To(Succeed())

		Eventually(m.repairs).Should(ConsistOf(And(ContainSubstring("AuthPolicy maas-auth-my-model"), ContainSubstring("opendatahub.io/managed=false"))))
		Consistently(m.repairs, "1s").Should(HaveLen(1))
	})
})

// repairs are the notes of the events that tell of a repair.
func (g governed) repairs() []string {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(suite.Admin.List(g.ctx, &list, client.InNamespace(g.namespace))).To(Succeed())
	var notes []string
	for _, e := range list.Items {
		if e.Reason == string(v1alpha1.EventDriftRepaired) && e.Regarding.Name == g.name && e.Regarding.Kind == v1alpha1.KindMaaSModelRef {
			notes = append(notes, e.Note)
		}
	}
	return notes
}
