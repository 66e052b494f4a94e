// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package late

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("An operator that starts before its neighbours", Ordered, func() {
	granite, llama := builder.Key(stage.ModelNamespace, "granite"), builder.Key(stage.ModelNamespace, "llama")
	gpt := builder.Key(stage.ModelNamespace, "gpt")
	policy := builder.AuthPolicy(stage.TenantNamespace, "everyone", granite).Obj()
	paid := builder.Subscription(stage.TenantNamespace, "gold").Limit(granite, 100, "1m").Obj()

	create := func(ctx SpecContext, objects ...client.Object) {
		GinkgoHelper()
		for _, o := range objects {
			Expect(on.Admin.Create(ctx, o)).To(Succeed())
		}
	}
	external := func(key types.NamespacedName) *v1alpha1.MaaSModelRef {
		return builder.ModelRef(key.Namespace, key.Name).Backend(v1alpha1.BackendExternalModel, key.Name).Obj()
	}
	route := func(name string) *builder.RouteBuilder {
		return builder.Route(stage.ModelNamespace, name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname)
	}

	AfterEach(func() { Expect(on.Operator.Alive()).To(BeTrue(), "the operator ended") })

	It("says of a model which API it lacks (9.1.37)", func(ctx SpecContext) {
		create(ctx, builder.ModelRef(granite.Namespace, granite.Name).Obj(), external(gpt), builder.ExternalModel(gpt.Namespace, gpt.Name))
		Eventually(says(ctx, granite)).Should(Equal("Failed/DependencyMissing"))
		Expect(condition(ctx, granite, v1alpha1.ConditionReady)()).To(ContainSubstring("LLMInferenceService"))
		Eventually(says(ctx, gpt)).Should(Equal("Pending/RouteNotFound"))
	})

	It("says of a governed model what its policies lack", func(ctx SpecContext) {
		create(ctx, policy, paid)
		Eventually(condition(ctx, granite, v1alpha1.ConditionGovernanceAttached)).Should(HavePrefix("True/GovernancePaired"))
		Eventually(condition(ctx, granite, v1alpha1.ConditionPoliciesApplied)).Should(And(
			HavePrefix("False/DependencyMissing"), ContainSubstring("Kuadrant")))
		Expect(phase(ctx, paid)()).NotTo(Equal(v1alpha1.PhaseActive))
	})

	It("finds routes and gateways when Gateway API comes", func(ctx SpecContext) {
		Expect(on.Install(ctx, testenv.GatewayAPI)).To(Succeed())
		create(ctx, route("maas-gpt").Unlabelled().Obj())
		Eventually(says(ctx, gpt)).Should(Equal("Ready/Reconciled"))
	}, NodeTimeout(startTimeout))

	It("finds model servers when KServe comes, also one of the first version (9.1.10, 9.1.37, B36)", func(ctx SpecContext) {
		onlyOldKServe(ctx)
		create(ctx, route("granite").Path("/llm/granite").Obj())
		Eventually(says(ctx, granite)).Should(Equal("Failed/BackendNotFound"))
		server(ctx, granite, "publishers/llm/models/granite")
		Eventually(says(ctx, granite)).Should(Equal("Ready/Reconciled"))
	}, NodeTimeout(startTimeout))

	It("takes the name in request bodies from a KServe that publishes it, and reports one that two share (9.1.32, A29, B34)", func(ctx SpecContext) {
		ref := builder.ModelRef(granite.Namespace, granite.Name).Obj()
		Expect(on.Admin.Get(ctx, granite, ref)).To(Succeed())
		Expect(ref.Status).To(And(
			HaveField("ResolvedModelAlias", "publishers/llm/models/granite"), HaveField("BaseURL", "https://"+stage.Hostname+"/"),
			HaveField("Endpoint", "https://"+stage.Hostname+"/llm/granite")))

		create(ctx, route("llama").Path("/llm/llama").Obj(), builder.ModelRef(llama.Namespace, llama.Name).Obj())
		second := server(ctx, llama, "publishers/llm/models/granite")
		for _, key := range []types.NamespacedName{granite, llama} {
			Eventually(condition(ctx, key, v1alpha1.ConditionModelIdentityUnique)).Should(HavePrefix("False/ModelNameConflict"))
		}
		Expect(on.Admin.Delete(ctx, builder.ModelRef(llama.Namespace, llama.Name).Obj())).To(Succeed())
		Expect(on.Admin.Delete(ctx, second)).To(Succeed())
		Eventually(condition(ctx, granite, v1alpha1.ConditionModelIdentityUnique)).Should(HavePrefix("True/UniqueIdentity"))
	})

	It("writes the policies when Kuadrant comes, and everybody becomes Active (optional APIs)", func(ctx SpecContext) {
		Expect(on.Install(ctx, testenv.Kuadrant)).To(Succeed())
		Eventually(condition(ctx, granite, v1alpha1.ConditionPoliciesApplied)).Should(HavePrefix("True/PoliciesApplied"))
		Eventually(phase(ctx, paid)).Should(Equal(v1alpha1.PhaseActive))
		Eventually(phase(ctx, policy)).Should(Equal(v1alpha1.PhaseActive))
		auth := kuadrant.New(kuadrant.AuthPolicy)
		Expect(on.Admin.Get(ctx, builder.Key(granite.Namespace, "maas-auth-granite"), auth)).To(Succeed())
	}, NodeTimeout(startTimeout))

	It("watches each of the late kinds once (9.1.28)", func() {
		for resource, group := range map[string]string{
			"llminferenceservices": "serving.kserve.io", "httproutes": "gateway.networking.k8s.io", "authpolicies": "kuadrant.io",
		} {
			events, err := on.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.ByVerb(audit.VerbWatch), audit.ByResource(group, resource), audit.Succeeded())
			Expect(err).NotTo(HaveOccurred())
			Expect(events).To(HaveLen(1), "watches of %s", resource)
		}
	})
})
