// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// routeOf and policyOf are the route to a tenant's maas-api and the policy on it.
func routeOf(t tenantOf) *gwapiv1.HTTPRoute {
	return &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "maas-api-route-" + t.name}}
}

func policyOf(t tenantOf) *unstructured.Unstructured {
	policy := kuadrant.New(kuadrant.AuthPolicy)
	policy.SetNamespace(infraNamespace)
	policy.SetName("maas-api-auth-policy-" + t.name)
	return policy
}

// keepsItsPolicy shows that what somebody does to the policy of maas-api is undone also
// while maas-api itself lacks something.
func keepsItsPolicy(ctx SpecContext, t tenantOf) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}}
	Expect(suite.Admin.Delete(ctx, secret)).To(Succeed())
	Eventually(t.state).Should(Equal("Failed PrerequisitesNotMet"))
	anybody := []byte(`{"spec":{"rules":{"authentication":{"anyone":{"anonymous":{}}},"authorization":null}}}`)
	Expect(suite.Admin.Patch(ctx, policyOf(t), client.RawPatch("application/merge-patch+json", anybody))).To(Succeed())
	Eventually(func(g Gomega) {
		policy := policyOf(t)
		g.Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
		rules, _, err := unstructured.NestedMap(policy.Object, "spec", "rules")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(rules).To(HaveKeyWithValue("authorization", Not(BeEmpty())))
		g.Expect(rules["authentication"]).NotTo(HaveKey("anyone"))
	}).Should(Succeed())
	Expect(suite.Admin.Delete(ctx, policyOf(t))).To(Succeed())
	Eventually(func() error { return suite.Admin.Get(ctx, client.ObjectKeyFromObject(policyOf(t)), policyOf(t)) }).Should(Succeed())
	provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
	Eventually(t.state).Should(Equal(works))
}

// opensNothingBehindAnother shows that no route is written whose policy is another
// controller's.
func opensNothingBehindAnother(ctx SpecContext) {
	GinkgoHelper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: "owner-of-a-policy"}}
	Expect(suite.Admin.Create(ctx, owner)).To(Succeed())
	foreign := policyOf(tenantOf{name: "pink"})
	foreign.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true)}})
	foreign.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "maas-api-route-pink"},
		"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
	}
	Expect(suite.Admin.Create(ctx, foreign)).To(Succeed())
	pink := newTenant(ctx, "pink")
	Eventually(maasAPI(pink)).ShouldNot(BeNil())
	Eventually(pink.state).Should(Equal("Pending RouteNotAccepted"))
	ready := meta.FindStatusCondition(pink.config().Status.Conditions, string(v1alpha1.ConditionReady))
	Expect(ready.Message).To(ContainSubstring("another controller owns a policy"))
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(routeOf(pink)), routeOf(pink))).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	Expect(suite.Admin.Delete(ctx, policyOf(pink))).To(Succeed())
	Eventually(pink.state).WithTimeout(2 * tenantconfig.HandBackDelay).Should(Equal(works))
	Expect(suite.Admin.Delete(ctx, pink.object())).To(Succeed())
	Eventually(pink.state).Should(Equal("gone"))
}

// keepsWhatGuardsAnOpenRoute shows that a tenant is not taken down behind a route that
// somebody took out of the operator's hands.
func keepsWhatGuardsAnOpenRoute(ctx SpecContext, t tenantOf) {
	GinkgoHelper()
	annotateObject(routeOf(t), "false")
	Expect(suite.Admin.Delete(ctx, t.object())).To(Succeed())
	Eventually(t.state).Should(Equal("Failed RemovalBlocked"))
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(policyOf(t)), policyOf(t))).To(Succeed())
	Expect(t.guards(gatewayNamespace)).To(HaveLen(2))
	annotateObject(routeOf(t), "true")
	Eventually(t.state).WithTimeout(2 * tenantconfig.HandBackDelay).Should(Equal("gone"))
}
