// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

var _ = Describe("The governance of a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("lacks an auth policy, and says so, with only a subscription (9.1.22; decides A13)", func() {
		granite := w.model("granite")
		w.create(w.subscription("gold").Limit(granite, 100, "1m").Obj())
		Eventually(w.modelWords(granite, v1alpha1.ConditionGovernanceAttached)).Should(And(
			ContainSubstring("MaaSAuthPolicy"), Not(ContainSubstring("MaaSSubscription"))))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("False/NoPairingFound"))
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
	})

	It("lacks a subscription, and says so, with only an auth policy (9.1.22; decides A13)", func() {
		granite := w.model("granite")
		w.create(w.authPolicy("everyone", granite).Obj())
		Eventually(w.modelWords(granite, v1alpha1.ConditionGovernanceAttached)).Should(And(
			ContainSubstring("MaaSSubscription"), Not(ContainSubstring("MaaSAuthPolicy"))))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("False/NoPairingFound"))
	})

	It("is attached with both, and has a gap when one goes, which does not make the model less Ready (decides 9.1.23)", func() {
		granite := w.model("granite")
		_, paid := w.pair(granite)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		w.removeAll(paid)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("False/GovernanceGap"))
		Expect(w.modelSays(granite)()).To(Equal("Ready/Reconciled"))
		Eventually(w.reported(granite)).Should(ContainElements("Normal GovernancePaired", "Warning GovernanceGap"))
	})

	It("keeps the gap in mind, whatever else happens, until it is closed (W-32)", func() {
		granite := w.model("granite")
		policy, paid := w.pair(granite)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		w.removeAll(paid)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("False/GovernanceGap"))
		w.failServer(granite, "out of memory")
		Eventually(w.modelSays(granite)).Should(Equal("Unhealthy/BackendNotReady"))
		w.removeAll(policy)
		Eventually(w.modelWords(granite, v1alpha1.ConditionGovernanceAttached)).Should(And(
			ContainSubstring("MaaSAuthPolicy"), ContainSubstring("MaaSSubscription")))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("False/GovernanceGap"))

		w.pair(granite)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
	})

	It("is missing beside a backend that is not ready: two conditions, and the phase is the backend's (decides 9.1.24)", func() {
		granite := w.model("granite")
		w.failServer(granite, "out of memory")
		Eventually(w.modelSays(granite)).Should(Equal("Unhealthy/BackendNotReady"))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("False/NoPairingFound"))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionRuntimeReady)()).To(Equal("False/RuntimeHealthFailure"))
	})

	It("is reported without naming who governs (9.1.25)", func() {
		granite := w.model("granite")
		paid := w.subscription("very-secret-gold").Limit(granite, 100, "1m").Obj()
		w.create(paid, w.authPolicy("very-secret-team", granite).Obj())
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		w.removeAll(paid)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("False/GovernanceGap"))
		text, err := json.Marshal(w.modelRef(granite).Status.Conditions)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(Or(ContainSubstring("very-secret"), ContainSubstring(stage.TenantNamespace), ContainSubstring(string(paid.UID))))
	})

	It("counts for each model that a pair names (9.1.26)", func() {
		granite, llama := w.model("granite"), w.model("llama")
		w.pair(granite, llama)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		Eventually(w.modelVerdict(llama, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
	})

	It("is put into policies whose identity is the MaaSModelRef's, whatever the backend is called (W-09)", func() {
		w.create(w.modelRoute("server").Obj(), builder.ModelServer(w.namespace, "server"),
			builder.ModelRef(w.namespace, "published").Backend(v1alpha1.BackendLLMInferenceService, "server").Obj())
		published := builder.Key(w.namespace, "published")
		w.pair(published)
		Eventually(w.limitNames(published)).Should(ConsistOf("tokens-100-per-1m"))
		Eventually(func() any { return w.authPolicyOf(published) }).ShouldNot(BeNil())
		text, err := json.Marshal(w.authPolicyOf(published).Object["spec"])
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(And(ContainSubstring(published.String()), Not(ContainSubstring(w.namespace+"/server"))))
		for _, policy := range []*unstructured.Unstructured{w.authPolicyOf(published), w.limitPolicy(published)} {
			target, _, err := unstructured.NestedString(policy.Object, "spec", "targetRef", "name")
			Expect(err).NotTo(HaveOccurred())
			Expect(target).To(Equal("server"))
		}
		Eventually(w.modelEndpoint(published)).Should(HaveSuffix("/" + w.namespace + "/server"))
	})
})
