// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// authenticators are the rules by which the model's AuthPolicy knows callers.
func (g governed) authenticators() map[string]any {
	policy := g.authPolicy()
	if policy == nil {
		return nil
	}
	rules, _, _ := unstructured.NestedMap(policy.Object, "spec", "rules", "authentication")
	return rules
}

// publishExternal has the model published from an ExternalModel of its own name.
func (g governed) publishExternal() {
	GinkgoHelper()
	ref := reload(g.ctx, &v1alpha1.MaaSModelRef{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name}})
	before := ref.DeepCopy()
	ref.Spec.ModelRef.Kind = v1alpha1.BackendExternalModel
	Expect(suite.Admin.Patch(g.ctx, ref, client.MergeFrom(before))).To(Succeed())
}

func (g governed) external(formats ...string) *inferencev1alpha1.ExternalModel {
	m := &inferencev1alpha1.ExternalModel{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name}}
	for _, format := range formats {
		m.Spec.ExternalProviderRefs = append(m.Spec.ExternalProviderRefs, inferencev1alpha1.ExternalProviderBinding{
			Ref: inferencev1alpha1.LocalReference{Name: "provider"}, TargetModel: "model", APIFormat: format, Path: "/v1",
		})
	}
	return m
}

var _ = Describe("API keys in x-api-key", func() {
	const authenticator = "api-keys-x-api-key"

	It("are accepted while a provider of the model takes messages, and on no other model", func(ctx SpecContext) {
		m, other := newModel(ctx), newModel(ctx)
		m.publishExternal()
		m.allow("team", "engineers")
		other.allow("team", "engineers")
		external := m.external("openai-chat")
		Expect(suite.Admin.Create(ctx, external)).To(Succeed())
		Eventually(m.authenticators).Should(And(HaveKey("api-keys"), Not(HaveKey(authenticator))))
		Eventually(other.authenticators).Should(HaveKey("api-keys"))

		changed := external.DeepCopy()
		changed.Spec.ExternalProviderRefs = m.external("openai-chat", "messages").Spec.ExternalProviderRefs
		Expect(suite.Admin.Patch(ctx, changed, client.MergeFrom(external))).To(Succeed())
		Eventually(m.authenticators).Should(HaveKey(authenticator))
		Expect(other.authenticators()).To(And(HaveKey("api-keys"), Not(HaveKey(authenticator))))

		back := changed.DeepCopy()
		back.Spec.ExternalProviderRefs = external.Spec.ExternalProviderRefs
		Expect(suite.Admin.Patch(ctx, back, client.MergeFrom(changed))).To(Succeed())
		Eventually(m.authenticators).Should(And(HaveKey("api-keys"), Not(HaveKey(authenticator))))
	})

	It("are not accepted without the ExternalModel, nor for a model of another kind with its name", func(ctx SpecContext) {
		m := newModel(ctx)
		m.allow("team", "engineers")
		external := m.external("messages")
		Expect(suite.Admin.Create(ctx, external)).To(Succeed())
		Eventually(m.authenticators).Should(HaveKey("api-keys"))
		m.publishExternal()
		Eventually(m.authenticators).Should(HaveKey(authenticator))
		Expect(suite.Admin.Delete(ctx, external)).To(Succeed())
		Eventually(m.authenticators).Should(And(HaveKey("api-keys"), Not(HaveKey(authenticator))))
	})

	It("are accepted from the moment the kind is served, and no longer when it is gone", Serial, func(ctx SpecContext) {
		m := newModel(ctx)
		m.publishExternal()
		m.allow("team", "engineers")
		Expect(suite.Admin.Create(ctx, m.external("messages"))).To(Succeed())
		Eventually(m.authenticators).Should(HaveKey(authenticator))

		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(facts.CRDMetadata().GroupVersionKind())
		crd.SetName("externalmodels." + inferencev1alpha1.GroupName)
		Expect(suite.Admin.Delete(ctx, crd)).To(Succeed())
		Eventually(m.authenticators).Should(And(HaveKey("api-keys"), Not(HaveKey(authenticator))))
		Eventually(func() bool {
			return apierrors.IsNotFound(suite.Admin.Get(ctx, client.ObjectKeyFromObject(crd), crd))
		}).Should(BeTrue())

		Expect(suite.Env.InstallCRDs(ctx, testenv.MaaS)).To(Succeed())
		Eventually(func() error { return suite.Admin.Create(ctx, m.external("messages")) }).Should(Succeed())
		Eventually(m.authenticators, "30s").Should(HaveKey(authenticator))
	})
})
