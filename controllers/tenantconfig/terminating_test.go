// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// The suite does not count these as rights that are lacking: this is how they look.
var _ = Describe("a kind that is being removed", func() {
	It("is called forbidden when an object of it is put back", func(ctx SpecContext) {
		const held = "example.com/held"
		kind := destinationRules()
		kind.SetFinalizers([]string{held})
		Expect(suite.Admin.Create(ctx, kind)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(kind), kind)).To(Succeed())
			before := kind.DeepCopy()
			kind.SetFinalizers(slices.DeleteFunc(kind.GetFinalizers(), func(name string) bool { return name == held }))
			Expect(suite.Admin.Patch(ctx, kind, client.MergeFrom(before))).To(Succeed())
			Eventually(func() bool { return gone(ctx, kind) }).Should(BeTrue())
		})
		put := func() error {
			rule := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "networking.istio.io/v1", "kind": "DestinationRule",
				"metadata": map[string]any{"namespace": gatewayNamespace, "name": "put-back"},
			}}
			return suite.direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(rule), client.FieldOwner(v1alpha1.FieldOwner))
		}
		Eventually(put).Should(Succeed())
		Expect(suite.Admin.Delete(ctx, kind.DeepCopy())).To(Succeed())
		Eventually(put).Should(Satisfy(apierrors.IsForbidden))
		Eventually(func() ([]audit.Event, error) {
			return suite.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.OfTerminatingKind(), audit.Named("put-back"))
		}).ShouldNot(BeEmpty())
	})
})
