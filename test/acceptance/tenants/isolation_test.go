// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// bytesOf are the objects of a tenant to the last byte, but for the status, which
// others write.
func bytesOf(ctx context.Context, t tenantOf) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	objects := objectsOf(ctx, t)
	for _, name := range []string{t.namespace()} {
		ns := &unstructured.Unstructured{}
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		ns.SetName(name)
		objects = append(objects, *read(ctx, ns))
	}
	for i := range objects {
		o := &objects[i]
		delete(o.Object, "status")
		// Whoever writes the status counts as a manager of fields and as a version.
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
		unstructured.RemoveNestedField(o.Object, "metadata", "resourceVersion")
		content, err := json.Marshal(o.Object)
		Expect(err).NotTo(HaveOccurred())
		found[nameOf(o)] = string(content)
	}
	return found
}

var _ = Describe("one tenant's mistake", Ordered, func() {
	const clumsy, careful = tenantOf("clumsy"), tenantOf("careful")
	var before, others map[string]string
	var versions [2]string
	var mark audit.Mark
	settings := func(ctx context.Context) [2]string {
		return [2]string{read(ctx, careful.object()).ResourceVersion, read(ctx, careful.config()).ResourceVersion}
	}

	BeforeAll(func(ctx SpecContext) {
		setUp(ctx, clumsy, careful)
		work(ctx, theDefault)
		before, others, versions = bytesOf(ctx, careful), bytesOf(ctx, theDefault), settings(ctx)
		mark = now()
	})
	AfterEach(func(ctx SpecContext) {
		Expect(bytesOf(ctx, careful)).To(Equal(before), "objects of the careful tenant")
		Expect(bytesOf(ctx, theDefault)).To(Equal(others), "objects of the default tenant")
		Expect(settings(ctx)).To(Equal(versions), "its AITenant and MaasTenantConfig")
		Expect(slices.DeleteFunc(writesAfter(mark)(), func(e audit.Event) bool { return !strings.Contains(e.URI, string(careful)) })).To(BeEmpty())
	})

	It("may be a wrong provider", func(ctx SpecContext) {
		edit(ctx, clumsy.object(), func(t *v1alpha1.AITenant) {
			t.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com/?realm=maas", ClientID: "maas"}
		})
		Eventually(clumsy.services(ctx)).Should(Equal("Failed InvalidOIDC"))
		edit(ctx, clumsy.object(), func(t *v1alpha1.AITenant) { t.Spec.OIDC = nil })
		work(ctx, clumsy)
	})

	It("may be another's Gateway, or none", func(ctx SpecContext) {
		for gateway, want := range map[string]string{
			string(careful): "Failed GatewayClaimFailed", stage.GatewayName: "Failed GatewayClaimFailed", "nowhere": "Failed GatewayCheckFailed",
		} {
			clumsy.move(ctx, gateway)
			Eventually(clumsy.state(ctx)).Should(Equal(want), gateway)
			Expect(clumsy.services(ctx)()).To(Equal(working), "it stays where it works")
		}
		clumsy.move(ctx, string(clumsy))
		work(ctx, clumsy)
	})

	It("may be a Gateway that is deleted; its policies go with it (A40)", func(ctx SpecContext) {
		guards := func() []string {
			return slices.DeleteFunc(namesOf(objectsOf(ctx, clumsy)), func(name string) bool { return !strings.Contains(name, "Policy "+stage.GatewayNamespace) })
		}
		const all = 3 // who gets in, who is limited, what is measured
		Expect(guards()).To(HaveLen(all))
		remove(ctx, clumsy.gateway())
		Eventually(clumsy.services(ctx)).Should(Equal("Pending GatewayNotReady"))
		Eventually(clumsy.state(ctx)).Should(Equal("Failed GatewayCheckFailed"))
		Eventually(guards).Should(BeEmpty())
		create(ctx, clumsy.gateway())
		work(ctx, clumsy)
		Eventually(guards).Should(HaveLen(all))
	})

	It("may be a Gateway that admits no routes", func(ctx SpecContext) {
		edit(ctx, clumsy.gateway(), func(g *gwapiv1.Gateway) {
			g.Spec.Listeners[0].AllowedRoutes = &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{From: new(gwapiv1.NamespacesFromSame)}}
		})
		Eventually(clumsy.services(ctx)).Should(Equal("Pending RouteNotAccepted"))
		edit(ctx, clumsy.gateway(), func(g *gwapiv1.Gateway) { g.Spec = clumsy.gateway().Spec })
		work(ctx, clumsy)
	})

	It("may be in the settings, the labels, or the namespace itself", func(ctx SpecContext) {
		clumsy.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "all of them")
		Eventually(clumsy.degraded(ctx)).Should(Equal("True InvalidReplicaAnnotation"))
		clumsy.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "")
		edit(ctx, clumsy.config(), func(c *v1alpha1.MaasTenantConfig) {
			c.Labels = map[string]string{
				v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: string(careful), v1alpha1.LabelTenantNamespace: careful.namespace(),
			}
		})
		Eventually(func() map[string]string { return read(ctx, clumsy.config()).Labels }).Should(HaveKeyWithValue(v1alpha1.LabelTenantName, string(clumsy)))
		edit(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clumsy.namespace()}}, func(ns *corev1.Namespace) { ns.Labels = nil })
		Eventually(func() map[string]string {
			return read(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clumsy.namespace()}}).Labels
		}).Should(HaveKeyWithValue(v1alpha1.LabelTenant, string(clumsy)))
		work(ctx, clumsy)
	})

	It("may be policies that come and go; the Gateway stays guarded (A21)", func(ctx SpecContext) {
		guarded := bytesOf(ctx, clumsy)
		policy := builder.AuthPolicy(clumsy.namespace(), "everyone", builder.Key(stage.ModelNamespace, "missing")).Obj()
		create(ctx, policy)
		Eventually(func() v1alpha1.Phase { return read(ctx, policy).Status.Phase }).ShouldNot(BeEmpty())
		remove(ctx, policy)
		Eventually(there(ctx, policy)).Should(BeFalse())
		Expect(bytesOf(ctx, clumsy)).To(Equal(guarded))
	})

	It("may be the whole tenant, which goes alone (A22)", func(ctx SpecContext) {
		remove(ctx, clumsy.object())
		Eventually(clumsy.state(ctx)).Should(Equal("gone"))
		Expect(objectsOf(ctx, clumsy)).To(BeEmpty())
		Expect(careful.services(ctx)()).To(Equal(working))
		Expect(theDefault.services(ctx)()).To(Equal(working))
	})
})
