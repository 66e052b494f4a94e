// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var _ = Describe("A model that lost a shared route", func() {
	It("no longer shares one, and says so", func(ctx SpecContext) {
		first := newModel(ctx)
		first.allow("team", "engineers")
		first.subscribe("sub", rated(1, "1m"))
		second := first
		second.name = "second-model"
		first.addModel(second.name, "my-route")
		second.subscribe("sub2", rated(2, "1m"))
		Eventually(second.condition(v1alpha1.ConditionRouteUnique)).Should(HaveField("Status", metav1.ConditionFalse))

		ref := reload(ctx, &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: second.namespace, Name: second.name}})
		before := ref.DeepCopy()
		ref.Status.HTTPRouteName, ref.Status.HTTPRouteNamespace = "", ""
		Expect(suite.Admin.Status().Patch(ctx, ref, client.MergeFrom(before))).To(Succeed())
		Eventually(second.condition(v1alpha1.ConditionRouteUnique)).Should(HaveField("Status", metav1.ConditionTrue))
		Expect(second.condition(v1alpha1.ConditionPoliciesApplied)()).To(HaveField("Reason", string(v1alpha1.ReasonRouteNotFound)))
	})
})
