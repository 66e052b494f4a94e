// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/rights"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// needed collects what the lives used and what the roles in them granted.
var needed []rights.Right

var _ = Describe("The operator", Ordered, func() {
	It("lives on Kubernetes", func(ctx SpecContext) {
		inherit(ctx)
		live(ctx)
		By("taking the installation down, as the annotation of the Deployment asks")
		annotateDeployment(ctx, v1alpha1.AnnotationTeardownRequested)
		Eventually(func() map[string]string { return read(ctx, deployment()).Annotations }).
			Should(HaveKey(v1alpha1.AnnotationTeardownCompleted))
		Expect(on.Operator.Stop()).To(Succeed())
		Expect(callsOn(audit.ByResource("config.openshift.io", "apiservers"))).To(BeEmpty())
	}, NodeTimeout(startTimeout))

	It("lives on OpenShift", func(ctx SpecContext) {
		annotateDeployment(ctx, "")
		becomeOpenShift(ctx)
		live(ctx)
		By("taking the installation down, as the Config asks")
		edit(ctx, config(), func(c *v1alpha1.Config) { c.Spec.ManagementState = v1alpha1.ManagementStateRemoved })
		Eventually(condition(ctx, config(), v1alpha1.ConditionTeardownCompleted)).Should(Equal("True TeardownCompleted"))
		Expect(on.Operator.Stop()).To(Succeed())
	}, NodeTimeout(startTimeout))

	It("was never refused a right", func() {
		Expect(callsOn(audit.Forbidden(), audit.Not(keysOfProviders))).To(BeEmpty())
	})

	It("needed every right it holds, and holds every right it needed", func() {
		held := held()
		needed = append(needed, rights.Used(callsOn(audit.Not(keysOfProviders)))...)
		Expect(texts(rights.Missing(needed, held))).To(BeEmpty(), "needed, not held")
		Expect(texts(rights.Idle(held, append(excused(held), needed...)))).To(BeEmpty(), "held, neither used nor granted")
	})
})

// keysOfProviders holds for questions about the Secrets of providers of models: only
// where an administrator allows it may the operator look at them.
func keysOfProviders(e *audit.Event) bool {
	return e.Resource == "secrets" && e.Namespace == stage.ModelNamespace
}

// live takes an installation from its start to the day before its end.
func live(ctx context.Context) {
	GinkgoHelper()
	By("starting")
	Expect(on.Operator.Start(ctx)).To(Succeed())
	Eventually(condition(ctx, theDefault.object(), v1alpha1.ConditionReady)).Should(Equal("True Reconciled"))
	Eventually(condition(ctx, theDefault.config(), v1alpha1.ConditionReady)).Should(Equal("True Reconciled"))
	Eventually(missing(ctx, legacyTenant())).Should(BeTrue(), "the Tenant of an earlier release is migrated")

	By("setting another tenant up")
	create(ctx, red.gateway(red.name()), red.gateway("scarlet"), red.object())
	red.works(ctx)

	By("publishing a model")
	model := builder.Key(stage.ModelNamespace, "granite")
	create(
		ctx,
		builder.Route(model.Namespace, model.Name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname).Obj(),
		builder.ModelServer(model.Namespace, model.Name),
		builder.ModelRef(model.Namespace, model.Name).Obj(),
	)
	policy, subscription := govern(ctx, theDefault, model)
	govern(ctx, red, model) // Goes with the tenant.
	Eventually(phase(ctx, subscription)).Should(Equal(string(v1alpha1.PhaseActive)))
	Eventually(phase(ctx, policy)).Should(Equal(string(v1alpha1.PhaseActive)))

	By("meddling with what protects")
	meddle(ctx, model)

	By("changing options")
	edit(ctx, config(), func(c *v1alpha1.Config) { c.Spec.MaasAPIEgressNetworkPolicy = v1alpha1.EgressNetworkPolicyDisabled })
	Eventually(missing(ctx, egressPolicy())).Should(BeTrue())
	edit(ctx, config(), func(c *v1alpha1.Config) { c.Spec.MaasAPIEgressNetworkPolicy = v1alpha1.EgressNetworkPolicyManaged })
	Eventually(missing(ctx, egressPolicy())).Should(BeFalse())
	edit(ctx, red.config(), func(c *v1alpha1.MaasTenantConfig) {
		c.Spec.APIKeys = &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(7))}
	})
	red.works(ctx)
	manage(ctx, red, "Removed")
	Eventually(condition(ctx, red.config(), v1alpha1.ConditionReady)).Should(Equal("False Removed"))
	manage(ctx, red, "Managed")
	red.works(ctx)

	By("moving the tenant to another Gateway")
	edit(ctx, red.object(), func(t *v1alpha1.AITenant) { t.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: "scarlet"} })
	red.works(ctx)

	extend(ctx, red)

	By("withdrawing the model")
	remove(ctx, builder.ModelRef(model.Namespace, model.Name).Obj(), policy, subscription)
	for _, object := range generated(model) {
		Eventually(missing(ctx, object)).Should(BeTrue())
	}
	remove(ctx, builder.ModelServer(model.Namespace, model.Name), builder.Route(model.Namespace, model.Name, "", "").Obj())

	By("deleting the tenant")
	stop := finishJobs(ctx)
	DeferCleanup(stop)
	remove(ctx, red.object())
	Eventually(missing(ctx, red.object())).Should(BeTrue())
	remove(ctx, red.gateway(red.name()), red.gateway("scarlet"))
}

// held are the rights of an installation's manifests.
func held() []rights.Right {
	GinkgoHelper()
	manifests, err := rights.Manifests("config/rbac")
	Expect(err).NotTo(HaveOccurred())
	held, err := rights.Held(manifests, testenv.OperatorNamespace, testenv.OperatorServiceAccount)
	Expect(err).NotTo(HaveOccurred())
	Expect(held).NotTo(BeEmpty())
	return held
}

// granted are the rights in the roles of the operator that exist now: whoever grants a
// right must hold it.
func granted(ctx context.Context) []rights.Right {
	GinkgoHelper()
	var roles []*unstructured.Unstructured
	for _, kind := range []string{"Role", "ClusterRole"} {
		for _, role := range ours(ctx, kind) {
			roles = append(roles, &role)
		}
	}
	granted, err := rights.Granted(roles)
	Expect(err).NotTo(HaveOccurred())
	Expect(granted).NotTo(BeEmpty())
	return granted
}

func callsOn(filters ...audit.Filter) []audit.Event {
	GinkgoHelper()
	events, err := on.Env.Audit().Events(append(filters, audit.ByUser(testenv.OperatorUser))...)
	Expect(err).NotTo(HaveOccurred())
	return events
}

func annotateDeployment(ctx context.Context, annotation string) {
	GinkgoHelper()
	edit(ctx, deployment(), func(d *appsv1.Deployment) {
		delete(d.Annotations, v1alpha1.AnnotationTeardownRequested)
		if annotation != "" {
			d.Annotations = map[string]string{annotation: "true"}
		}
	})
}

func manage(ctx context.Context, t tenantOf, state string) {
	GinkgoHelper()
	edit(ctx, t.config(), func(c *v1alpha1.MaasTenantConfig) {
		c.Annotations[v1alpha1.AnnotationManagementState] = state
	})
}

// govern lets a group call a model, with a limit, and leaves both with the finalizers
// of an earlier release.
func govern(ctx context.Context, t tenantOf, model client.ObjectKey) (*v1alpha1.MaaSAuthPolicy, *v1alpha1.MaaSSubscription) {
	GinkgoHelper()
	policy := builder.AuthPolicy(t.namespace(), "engineers", model).Obj()
	policy.Finalizers = []string{v1alpha1.FinalizerAuthPolicyCleanup}
	subscription := builder.Subscription(t.namespace(), "engineers").Limit(model, 100, "1m").Obj()
	subscription.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
	create(ctx, policy, subscription)
	return policy, subscription
}
