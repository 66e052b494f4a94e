// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

const egress = "maas-api-egress-restrict"

// policy is a NetworkPolicy of the installation with nothing but its name.
func policy(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: name}}
}

func toPort(port int) networkingv1.NetworkPolicyEgressRule {
	return networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt(port))}}}
}

// configure changes the Config and waits until it was looked at.
func configure(ctx context.Context, change func(*v1alpha1.ConfigSpec)) {
	GinkgoHelper()
	c := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
	edit(ctx, c, func(c *v1alpha1.Config) { change(&c.Spec) })
	Eventually(func(g Gomega) {
		read(ctx, c)
		g.Expect(c.Status.ObservedGeneration).To(Equal(c.Generation))
		g.Expect(condition(c.Status.Conditions, v1alpha1.ConditionReady)).To(Equal("True PlatformReady"))
	}).Should(Succeed())
}

var _ = Describe("what tenants share", Ordered, func() {
	rules := func(ctx context.Context) []networkingv1.NetworkPolicyEgressRule {
		GinkgoHelper()
		return read(ctx, policy(egress)).Spec.Egress
	}
	var usual []networkingv1.NetworkPolicyEgressRule

	BeforeAll(func(ctx SpecContext) {
		setUp(ctx, "sharing-a", "sharing-b")
		work(ctx, theDefault)
		usual = rules(ctx)
	})

	It("is there once, and no tenant's (E-171)", func(ctx SpecContext) {
		shared := written(ctx, map[string]string{v1alpha1.LabelConfig: v1alpha1.ConfigName})
		Expect(len(shared)).To(BeNumerically(">=", 7))
		for _, o := range shared {
			Expect(o.GetLabels()).NotTo(HaveKey(v1alpha1.LabelTenantNamespace), nameOf(&o))
			Expect(o.GetOwnerReferences()).To(ConsistOf(And(HaveField("Kind", "Config"), HaveField("Controller", HaveValue(BeTrue())), HaveField("BlockOwnerDeletion", BeNil()))))
		}
	})

	It("admits Authorino from where it may run, to one port (E-146)", func(ctx SpecContext) {
		p := read(ctx, policy("maas-authorino-allow"))
		Expect(p.Spec.Ingress).To(HaveLen(1))
		Expect(p.Spec.Ingress[0].Ports).To(ConsistOf(HaveField("Port", HaveValue(Equal(intstr.FromInt(8443))))))
		Expect(p.Spec.Ingress[0].From).To(HaveLen(1))
		peer := p.Spec.Ingress[0].From[0]
		Expect(peer.PodSelector.MatchLabels).NotTo(BeEmpty())
		Expect(peer.NamespaceSelector.MatchExpressions).To(ConsistOf(HaveField("Values", ContainElements("kuadrant-system", "rh-connectivity-link"))))
	})

	It("comes back at once when somebody deletes or changes it (E-166)", func(ctx SpecContext) {
		for _, o := range written(ctx, map[string]string{v1alpha1.LabelConfig: v1alpha1.ConfigName}) {
			remove(ctx, &o)
		}
		for _, name := range []string{egress, "maas-api-allow-gateway", "maas-authorino-allow", "maas-api-allow-cleanup", "maas-api-cleanup-restrict"} {
			Eventually(there(ctx, policy(name)), "5s").Should(BeTrue(), name)
		}
		edit(ctx, policy(egress), func(p *networkingv1.NetworkPolicy) {
			p.Spec.Egress = append([]networkingv1.NetworkPolicyEgressRule{toPort(6666)}, p.Spec.Egress...)
		})
		Eventually(func() []networkingv1.NetworkPolicyEgressRule { return rules(ctx) }, "5s").Should(Equal(usual))
	})

	It("follows the Config: other rules, more rules, none (E-167 to E-169, E-171)", func(ctx SpecContext) {
		configure(ctx, func(s *v1alpha1.ConfigSpec) {
			s.NetworkPolicyAdditionalEgressRules = []networkingv1.NetworkPolicyEgressRule{toPort(5432)}
		})
		Expect(rules(ctx)).To(HaveLen(len(usual) + 1))
		Expect(rules(ctx)[:len(usual)]).To(Equal(usual))
		configure(ctx, func(s *v1alpha1.ConfigSpec) {
			s.NetworkPolicyEgressRules, s.NetworkPolicyAdditionalEgressRules = []networkingv1.NetworkPolicyEgressRule{toPort(53)}, nil
		})
		Expect(rules(ctx)).To(ConsistOf(HaveField("Ports", ConsistOf(HaveField("Port", HaveValue(Equal(intstr.FromInt(53))))))))
		configure(ctx, func(s *v1alpha1.ConfigSpec) {
			s.NetworkPolicyEgressRules, s.MaasAPIEgressNetworkPolicy = nil, v1alpha1.EgressNetworkPolicyDisabled
		})
		Eventually(there(ctx, policy(egress))).Should(BeFalse())
		Expect(exists(ctx, policy("maas-api-cleanup-restrict"))).To(BeTrue())
		work(ctx, theDefault, "sharing-a", "sharing-b")
	})

	It("keeps away from what somebody else has under that name (E-169)", func(ctx SpecContext) {
		foreign := policy(egress)
		foreign.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
		create(ctx, foreign)
		uid := read(ctx, foreign).UID
		configure(ctx, func(s *v1alpha1.ConfigSpec) { s.LimitadorScrapeInterval = "20s" })
		Expect(read(ctx, policy(egress))).To(And(HaveField("UID", Equal(uid)), HaveField("Spec.Egress", BeEmpty())))
		remove(ctx, foreign)
		configure(ctx, func(s *v1alpha1.ConfigSpec) {
			s.LimitadorScrapeInterval, s.MaasAPIEgressNetworkPolicy = "", v1alpha1.EgressNetworkPolicyManaged
		})
		Expect(rules(ctx)).To(Equal(usual))
	})

	It("refuses rules for a policy that is not to be (E-170)", func(ctx SpecContext) {
		for _, lists := range []func(*v1alpha1.ConfigSpec){
			func(s *v1alpha1.ConfigSpec) {
				s.NetworkPolicyEgressRules = []networkingv1.NetworkPolicyEgressRule{toPort(53)}
			},
			func(s *v1alpha1.ConfigSpec) {
				s.NetworkPolicyAdditionalEgressRules = []networkingv1.NetworkPolicyEgressRule{toPort(53)}
			},
		} {
			c := read(ctx, &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}})
			c.Spec.MaasAPIEgressNetworkPolicy = v1alpha1.EgressNetworkPolicyDisabled
			lists(&c.Spec)
			Expect(on.Admin.Update(ctx, c)).To(MatchError(ContainSubstring("Disabled")))
		}
	})
})
