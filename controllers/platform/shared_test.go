// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

var _ = Describe("the shared objects", func() {
	AfterEach(uninstall)

	rules := func(ports ...int) []networkingv1.NetworkPolicyEgressRule {
		var out []networkingv1.NetworkPolicyEgressRule
		for _, port := range ports {
			out = append(out, networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt(port))}}})
		}
		return out
	}

	It("come back when they are deleted or changed", func(ctx SpecContext) { // E-166
		install(ctx)
		settle(ctx)
		first := now(policy(ctx, egressPolicy))
		Expect(suite.Admin.Delete(ctx, first)).To(Succeed())
		Eventually(policy(ctx, egressPolicy)).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(first.UID)))))

		edit(ctx, now(policy(ctx, egressPolicy)), func(p *networkingv1.NetworkPolicy) { p.Spec.Egress = nil })
		Eventually(policy(ctx, egressPolicy)).Should(HaveField("Spec.Egress", Equal(first.Spec.Egress)))

		edit(ctx, now(policy(ctx, egressPolicy)), func(p *networkingv1.NetworkPolicy) { delete(p.Labels, "maas.opendatahub.io/config") })
		Eventually(policy(ctx, egressPolicy)).Should(HaveField("Labels", HaveKey("maas.opendatahub.io/config")))
	})

	It("follow the Config", func(ctx SpecContext) { // E-167, E-169, E-171
		install(ctx)
		settle(ctx)
		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.NetworkPolicyEgressRules = rules(5432) })
		Eventually(policy(ctx, egressPolicy)).Should(HaveField("Spec.Egress", HaveLen(1)))

		editConfig(ctx, func(s *v1alpha1.ConfigSpec) {
			s.NetworkPolicyEgressRules, s.MaasAPIEgressNetworkPolicy = nil, v1alpha1.EgressNetworkPolicyDisabled
		})
		Eventually(policy(ctx, egressPolicy)).Should(BeNil())
		Eventually(says(ctx, "Ready")).Should(Equal("True/PlatformReady"))
		Expect(now(config(ctx)).Status.Inventory).NotTo(ContainElement(HaveField("Name", egressPolicy)))
		Expect(now(policy(ctx, "maas-api-allow-gateway"))).NotTo(BeNil(), "the others stay")

		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.MaasAPIEgressNetworkPolicy = v1alpha1.EgressNetworkPolicyManaged })
		Eventually(policy(ctx, egressPolicy)).ShouldNot(BeNil())
	})

	It("give way to an object of somebody else, and say so", func(ctx SpecContext) { // E-169
		ensureNamespace(ctx, infraNamespace)
		foreign := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: egressPolicy, Labels: map[string]string{"theirs": "yes"}}}
		Expect(suite.Admin.Create(ctx, foreign)).To(Succeed())
		install(ctx)
		Eventually(says(ctx, "Ready")).Should(Equal("False/ForeignObject"))
		Expect(now(message(ctx))).To(And(ContainSubstring(infraNamespace+"/"+egressPolicy), ContainSubstring("delete or rename it")))
		Expect(now(policy(ctx, "maas-api-allow-gateway"))).NotTo(BeNil(), "the others are made")
		Eventually(tenant(ctx)).ShouldNot(BeNil())

		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.MaasAPIEgressNetworkPolicy = v1alpha1.EgressNetworkPolicyDisabled })
		Eventually(says(ctx, "Ready")).Should(Equal("True/PlatformReady"))
		Expect(now(policy(ctx, egressPolicy)).UID).To(Equal(foreign.UID))
	})

	It("of an earlier release are taken over", func(ctx SpecContext) {
		ensureNamespace(ctx, infraNamespace)
		owner := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		Expect(suite.Admin.Create(ctx, owner)).To(Succeed())
		old := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: egressPolicy, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "maas.opendatahub.io/v1alpha1", Kind: "Config", Name: "default", UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true)},
		}}}
		Expect(suite.Admin.Create(ctx, old)).To(Succeed())
		install(ctx)
		settle(ctx)
		Expect(now(policy(ctx, egressPolicy))).To(And(HaveField("UID", old.UID), HaveField("Spec.PolicyTypes", Not(BeEmpty()))))
	})

	It("stay as they are when the Config's rules are refused, and the Config says which", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		good := now(policy(ctx, egressPolicy)).Spec
		bad := rules(5432)
		bad[0].To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "no address"}}}
		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.NetworkPolicyEgressRules = bad })
		Eventually(says(ctx, "Ready")).Should(Equal("False/ApplyFailed"))
		Expect(now(message(ctx))).To(ContainSubstring("spec.networkPolicyEgressRules"))
		Expect(now(policy(ctx, egressPolicy)).Spec).To(Equal(good))
	})

	It("that opted out are left alone, and named", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		edit(ctx, now(policy(ctx, egressPolicy)), func(p *networkingv1.NetworkPolicy) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, "opendatahub.io/managed", "false")
			p.Spec.Egress = nil
		})
		Eventually(message(ctx)).Should(ContainSubstring(egressPolicy))
		Expect(now(policy(ctx, egressPolicy)).Spec.Egress).To(BeEmpty())
		Expect(now(says(ctx, "Ready"))).To(Equal("True/PlatformReady"))
	})
})
