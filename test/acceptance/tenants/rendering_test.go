// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("what runs for a tenant", Ordered, func() {
	const partner = tenantOf("partner")
	// env is a variable of the tenant's maas-api.
	env := func(ctx context.Context, t tenantOf, name string) func() string {
		return func() string {
			variables := read(ctx, deploymentOf(t)).Spec.Template.Spec.Containers[0].Env
			i := slices.IndexFunc(variables, func(v corev1.EnvVar) bool { return v.Name == name })
			if i < 0 {
				return "unset"
			}
			return variables[i].Value
		}
	}
	replicas := func(ctx context.Context) func() int32 {
		return func() int32 { return *read(ctx, deploymentOf(partner)).Spec.Replicas }
	}

	BeforeAll(func(ctx SpecContext) {
		setUp(ctx, partner)
		work(ctx, theDefault)
	})

	It("has the names of earlier releases for the default tenant, and the tenant's for others (E-123, E-125)", func(ctx SpecContext) {
		for _, t := range []tenantOf{theDefault, partner} {
			names := namesOf(objectsOf(ctx, t))
			for _, name := range []string{
				"Deployment " + infra + "/maas-api", "Service " + infra + "/maas-api", "HTTPRoute " + infra + "/maas-api-route", "CronJob " + infra + "/maas-api-key-cleanup",
				"AuthPolicy " + infra + "/maas-api-auth-policy", "AuthPolicy openshift-ingress/gateway-default-auth",
				"TokenRateLimitPolicy openshift-ingress/gateway-default-deny", "DestinationRule openshift-ingress/maas-api-backend-tls",
			} {
				Expect(names).To(ContainElement(t.suffixed(name)))
			}
			Expect(env(ctx, t, "TENANT_NAME")()).To(Equal(string(t)))
			Expect(env(ctx, t, "TENANT_UID")()).To(Equal(string(read(ctx, t.object()).UID)))
			Expect(env(ctx, t, "MAAS_SUBSCRIPTION_NAMESPACE")()).To(Equal(t.namespace()))
		}
	})

	It("is reached by the paths that are for clients, and by no others (E-124, E-165)", func(ctx SpecContext) {
		for _, t := range []tenantOf{theDefault, partner} {
			route := read(ctx, &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: t.suffixed("maas-api-route")}})
			var paths []string
			for _, rule := range route.Spec.Rules {
				Expect(rule.BackendRefs).To(ConsistOf(HaveField("Name", BeEquivalentTo(t.suffixed("maas-api")))))
				for _, match := range rule.Matches {
					paths = append(paths, *match.Path.Value)
				}
			}
			Expect(paths[:3]).To(Equal([]string{"/v1/models", "/v1/subscriptions", "/v1/api-keys"}))
			for _, path := range paths {
				Expect("/v1/tenants").NotTo(HavePrefix(path))
				Expect("/maas-api/internal/v1/api-keys/cleanup").NotTo(HavePrefix(path))
				Expect("/internal/v1/api-keys/validate").NotTo(HavePrefix(path))
			}
			Expect(route.Spec.ParentRefs).To(HaveLen(1))
		}
	})

	It("runs the image that the installation names (E-126)", func(ctx SpecContext) {
		Expect(read(ctx, deploymentOf(partner)).Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	})

	It("bounds keys as the tenant says, whoever else writes there (E-127, A87)", func(ctx SpecContext) {
		const days = "API_KEY_MAX_EXPIRATION_DAYS"
		Expect(env(ctx, partner, days)()).To(Equal("90"))
		edit(ctx, partner.config(), func(c *v1alpha1.MaasTenantConfig) {
			c.Spec.APIKeys = &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30)), DeletionRetentionDays: new(int32(7))}
		})
		Eventually(env(ctx, partner, days)).Should(Equal("30"))
		Expect(env(ctx, partner, "API_KEY_DELETION_RETENTION_DAYS")()).To(Equal("7"))
		create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "maas-parameters"}, Data: map[string]string{"api-key-max-expiration-days": "365"},
		})
		edit(ctx, deploymentOf(partner), func(d *appsv1.Deployment) {
			variables := d.Spec.Template.Spec.Containers[0].Env
			variables[slices.IndexFunc(variables, func(v corev1.EnvVar) bool { return v.Name == days })].Value = "365"
		})
		Eventually(env(ctx, partner, days)).Should(Equal("30"))
		Consistently(env(ctx, partner, days), "1s").Should(Equal("30"))
		Expect(env(ctx, theDefault, days)()).NotTo(Equal("365"))
		edit(ctx, partner.config(), func(c *v1alpha1.MaasTenantConfig) { c.Spec.APIKeys = nil })
		Eventually(env(ctx, partner, days)).Should(Equal("90"))
	})

	It("has as many replicas as are asked for, if that is a number (E-128)", func(ctx SpecContext) {
		work(ctx, partner)
		partner.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "3")
		Eventually(replicas(ctx)).Should(BeEquivalentTo(3))
		for _, wrong := range []string{"abc", "0", "-1", "101"} {
			partner.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "3")
			Eventually(partner.degraded(ctx)).Should(Equal("False NoWarnings"), wrong)
			partner.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, wrong)
			Eventually(partner.degraded(ctx)).Should(Equal("True InvalidReplicaAnnotation"), wrong)
			Eventually(replicas(ctx)).Should(BeEquivalentTo(1), wrong)
		}
		partner.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "")
		work(ctx, partner)
	})

	It("keeps what others add, without a quarrel (C35)", func(ctx SpecContext) {
		edit(ctx, deploymentOf(partner), func(d *appsv1.Deployment) {
			setAnnotation(d, "example.com/owner", "team-a")
			d.Labels["example.com/cost"] = "42"
			d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "example.com/spot", Operator: corev1.TolerationOpExists}}
		})
		mark := now()
		partner.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "2")
		Eventually(replicas(ctx)).Should(BeEquivalentTo(2))
		partner.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "")
		Eventually(replicas(ctx)).Should(BeEquivalentTo(1))
		d := read(ctx, deploymentOf(partner))
		Expect(d.Annotations).To(HaveKeyWithValue("example.com/owner", "team-a"))
		Expect(d.Labels).To(HaveKeyWithValue("example.com/cost", "42"))
		Expect(d.Spec.Template.Spec.Tolerations).To(HaveLen(1))
		writes := slices.DeleteFunc(writesAfter(mark)(), func(e audit.Event) bool {
			return !audit.Succeeded()(&e) || e.Resource != "deployments" || e.Name != deploymentOf(partner).Name
		})
		Expect(writes).To(HaveLen(2), "one for each change of ours")
	})
})
