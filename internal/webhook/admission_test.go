// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const finalizer = "example.com/wait"

// refuseInvalid matches the form that violations of the schema have.
func refuseInvalid(texts ...string) OmegaMatcher {
	matchers := []OmegaMatcher{MatchError(apierrors.IsInvalid, "IsInvalid")}
	for _, text := range texts {
		matchers = append(matchers, MatchError(ContainSubstring(text)))
	}
	return And(matchers...)
}

// The specs run in this order because the last ones switch the server off.
var _ = Describe("Admission", Ordered, func() {
	Describe("of subscriptions and auth policies", func() {
		const notEnabled = "is not enabled for MaaS tenant resources"

		It("admits them in the default tenant's namespace", func(ctx SpecContext) {
			create(ctx, members(defaultNamespace)...)
		})

		It("refuses them in a plain namespace and names the remedies", func(ctx SpecContext) {
			plain := unique("plain")
			create(ctx, namespace(plain, nil))
			for _, object := range members(plain) {
				Expect(admin.Create(ctx, object)).To(refuseInvalid("metadata.namespace", "namespace "+plain+" "+notEnabled, object.GetName(),
					v1alpha1.LabelTenant, "AITenant", "MaasTenantConfig", defaultNamespace))
			}
		})

		It("refuses them where only the label is, and says what is missing", func(ctx SpecContext) {
			labelled := unique("labelled")
			create(ctx, namespace(labelled, tenantLabel("red")))
			for _, object := range members(labelled) {
				Expect(admin.Create(ctx, object)).To(refuseInvalid(notEnabled, "holds no MaasTenantConfig default-tenant"))
			}
		})

		It("admits them in a namespace that an AITenant manages", func(ctx SpecContext) {
			tenant := unique("managed")
			create(ctx, namespace("ai-tenant-"+tenant, tenantLabel(tenant)), tenantConfig(tenant))
			create(ctx, members("ai-tenant-"+tenant)...)
		})

		It("admits them beside a legacy Tenant of the default namespace, and nowhere else", func(ctx SpecContext) {
			old := unique("old")
			legacy := func(namespace string) client.Object {
				return &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}}
			}
			create(ctx, namespace(old, nil), legacy(old), legacy(defaultNamespace))
			create(ctx, members(defaultNamespace)...)
			for _, object := range members(old) {
				Expect(admin.Create(ctx, object)).To(refuseInvalid(notEnabled))
			}
		})

		It("sees a namespace that became a tenant's a moment before", func(ctx SpecContext) {
			for range 10 {
				tenant := unique("fresh")
				create(ctx, namespace("ai-tenant-"+tenant, tenantLabel(tenant)), tenantConfig(tenant))
				create(ctx, members("ai-tenant-"+tenant)...)
			}
		})

		It("lets what is there change and go when its namespace is a tenant's no more", func(ctx SpecContext) {
			tenant := unique("former")
			home := namespace("ai-tenant-"+tenant, tenantLabel(tenant))
			config := tenantConfig(tenant)
			stored := members(home.Name)
			create(ctx, append([]client.Object{home, config}, stored...)...)
			Expect(admin.Delete(ctx, config)).To(Succeed())
			Expect(patch(ctx, home, func() { home.Labels = nil })).To(Succeed())
			for _, object := range stored {
				Expect(label(ctx, object)).To(Succeed())
				Expect(admin.Delete(ctx, object)).To(Succeed())
			}
		})
	})

	Describe("of models", func() {
		It("admits one without a tenant and one that names an AITenant", func(ctx SpecContext) {
			tenant := unique("red")
			create(ctx, aiTenant(tenant))
			create(ctx, model("default", unique("granite"), ""), model("default", unique("granite"), tenant))
		})

		It("refuses to create one whose AITenant does not exist, and says where to create it", func(ctx SpecContext) {
			Expect(admin.Create(ctx, model("default", "granite", "nobody"))).To(refuseInvalid(`"granite"`, "spec.tenantRef",
				"AITenant nobody does not exist in namespace ai-tenants", "create it there"))
		})

		It("refuses to move one to an AITenant that does not exist", func(ctx SpecContext) {
			m := model("default", unique("granite"), "")
			create(ctx, m)
			Expect(patch(ctx, m, func() { m.Spec.TenantRef = "nobody" })).To(refuseInvalid("spec.tenantRef", "AITenant nobody does not exist"))
		})

		It("sees an AITenant that was created a moment before", func(ctx SpecContext) {
			for range 10 {
				tenant := unique("fresh")
				create(ctx, aiTenant(tenant), model("default", unique("granite"), tenant))
			}
		})

		It("lets one whose AITenant is gone change in everything else, and go", func(ctx SpecContext) {
			tenant := aiTenant(unique("gone"))
			m := model("default", unique("granite"), tenant.Name)
			m.Finalizers = []string{finalizer}
			create(ctx, tenant, m)
			Expect(admin.Delete(ctx, tenant)).To(Succeed())
			Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(tenant), tenant) }).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))

			Expect(label(ctx, m)).To(Succeed())
			Expect(patch(ctx, m, func() { m.Annotations = map[string]string{"note": "a"} })).To(Succeed())
			Expect(patch(ctx, m, func() { m.Spec.ModelRef.Name = "other" })).To(Succeed())
			m.Status.Phase = v1alpha1.ModelPhaseFailed
			Expect(admin.Status().Update(ctx, m)).To(Succeed())

			Expect(admin.Delete(ctx, m)).To(Succeed())
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			Expect(patch(ctx, m, func() { m.Finalizers = nil })).To(Succeed())
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(m), m)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		})

		It("lets the tenant of one be cleared", func(ctx SpecContext) {
			tenant := unique("red")
			m := model("default", unique("granite"), tenant)
			create(ctx, aiTenant(tenant), m)
			Expect(patch(ctx, m, func() { m.Spec.TenantRef = "" })).To(Succeed())
		})
	})

	Describe("of AITenants", func() {
		gateway := func(name string) *v1alpha1.AITenantGatewayRef { return &v1alpha1.AITenantGatewayRef{Name: name} }
		using := func(name, gatewayName string) *v1alpha1.AITenant {
			t := aiTenant(name)
			t.Spec.Gateway = gateway(gatewayName)
			return t
		}

		It("admits one in the namespace of AITenants, and refuses it elsewhere (E-159)", func(ctx SpecContext) {
			create(ctx, aiTenant(unique("placed")))
			elsewhere := aiTenant(unique("placed"))
			elsewhere.Namespace = defaultNamespace
			Expect(admin.Create(ctx, elsewhere)).To(refuseInvalid("metadata.namespace", "in namespace ai-tenants only"))
		})

		It("refuses a name that would take that of a shared object (W-40)", func(ctx SpecContext) {
			Expect(admin.Create(ctx, aiTenant("cleanup"))).To(refuseInvalid("metadata.name", "choose another name"))
		})

		It("refuses a Gateway that another one asks for, by name or by default (E-160)", func(ctx SpecContext) {
			holder := unique("holder")
			create(ctx, using(holder, holder+"-gateway"))
			Expect(admin.Create(ctx, using(unique("second"), holder+"-gateway"))).To(refuseInvalid("spec.gateway.name", "already in use by AITenant "+holder))
			Expect(admin.Create(ctx, aiTenant(holder+"-gateway"))).To(refuseInvalid("already in use by AITenant " + holder))

			implicit := unique("implicit")
			create(ctx, aiTenant(implicit))
			Expect(admin.Create(ctx, using(unique("third"), implicit))).To(refuseInvalid("already in use by AITenant " + implicit))
		})

		It("warns while the Gateway does not exist", func(ctx SpecContext) {
			missing, present := aiTenant(unique("missing")), aiTenant(unique("present"))
			create(ctx, missing)
			Expect(warnings.take()).To(ContainElement(ContainSubstring("Gateway openshift-ingress/" + missing.Name + " does not exist yet")))
			create(ctx, gatewayNamed(present.Name))
			Eventually(func(g Gomega) {
				g.Expect(admin.Create(ctx, present.DeepCopy(), client.DryRunAll)).To(Succeed())
				g.Expect(warnings.take()).To(BeEmpty())
			}).Should(Succeed())
		})

		It("lets one move to a free Gateway only (E-161)", func(ctx SpecContext) {
			holder, mover := aiTenant(unique("holder")), aiTenant(unique("mover"))
			create(ctx, holder, mover)
			Expect(patch(ctx, mover, func() { mover.Spec.Gateway = gateway(unique("free")) })).To(Succeed())
			Expect(patch(ctx, mover, func() { mover.Spec.Gateway = gateway(holder.Name) })).To(refuseInvalid("already in use by AITenant " + holder.Name))
		})

		It("lets a duplicate that is stored change in everything else, and go (W-38)", func(ctx SpecContext) {
			holder := aiTenant(unique("holder"))
			double := using(unique("double"), holder.Name)
			double.Finalizers = []string{finalizer}
			create(ctx, holder)
			Expect(env.RemoveWebhooks(ctx)).To(Succeed())
			Eventually(func() error { return admin.Create(ctx, double) }).Should(Succeed())
			_, err := env.InstallWebhooks(ctx, address)
			Expect(err).NotTo(HaveOccurred())
			awaitWebhooks(ctx)

			Expect(label(ctx, double)).To(Succeed())
			Expect(patch(ctx, double, func() {
				double.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas"}
			})).To(Succeed())
			Expect(admin.Delete(ctx, double)).To(Succeed())
			Expect(patch(ctx, double, func() { double.Finalizers = nil })).To(Succeed())
		})
	})

	It("takes up a renewed certificate without a restart", func(ctx SpecContext) {
		first, err := certificate(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = env.InstallWebhooks(ctx, address)
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() (string, error) { return certificate(ctx) }).ShouldNot(Equal(first))
		Eventually(func() error { return admin.Create(ctx, subscription("default", "late"), client.DryRunAll) }).
			Should(refuseInvalid("is not enabled for MaaS tenant resources"))
	})

	It("needs no right that the operator does not have", func() {
		events, err := env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden())
		Expect(err).NotTo(HaveOccurred())
		Expect(events).To(BeEmpty())
	})

	Describe("while nobody serves the webhooks", Ordered, func() {
		var (
			stored []client.Object
			homed  *v1alpha1.MaaSModelRef
		)
		BeforeAll(func(ctx SpecContext) {
			stored = members(defaultNamespace)
			tenant := unique("red")
			homed = model("default", unique("granite"), tenant)
			homed.Finalizers = []string{finalizer}
			create(ctx, append(stored, aiTenant(tenant), homed)...)
			stopServer()
		})

		It("refuses new subscriptions, policies and tenants of models", func(ctx SpecContext) {
			for _, object := range append(members(defaultNamespace), model("default", unique("granite"), "red")) {
				Expect(admin.Create(ctx, object)).To(MatchError(ContainSubstring("failed calling webhook")))
			}
		}, NodeTimeout(time.Minute))

		It("lets models without a tenant come", func(ctx SpecContext) {
			create(ctx, model("default", unique("granite"), ""))
		})

		It("lets subscriptions and policies change, report and go", func(ctx SpecContext) {
			for _, object := range stored {
				Expect(label(ctx, object)).To(Succeed())
				Expect(admin.Status().Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Pending"}}`)))).To(Succeed())
				Expect(patch(ctx, object, func() { setUser(object, "bob") })).To(Succeed())
				Expect(admin.Delete(ctx, object)).To(Succeed())
			}
		})

		It("lets a model with a tenant change, report and go", func(ctx SpecContext) {
			Expect(label(ctx, homed)).To(Succeed())
			Expect(patch(ctx, homed, func() { homed.Spec.ModelRef.Name = "other" })).To(Succeed())
			homed.Status.Phase = v1alpha1.ModelPhasePending
			Expect(admin.Status().Update(ctx, homed)).To(Succeed())
			Expect(admin.Delete(ctx, homed)).To(Succeed())
			Expect(admin.Get(ctx, client.ObjectKeyFromObject(homed), homed)).To(Succeed())
			Expect(patch(ctx, homed, func() { homed.Finalizers = nil })).To(Succeed())
		})
	})
})

// setUser changes the spec of a subscription or an auth policy.
func setUser(object client.Object, user string) {
	switch o := object.(type) {
	case *v1alpha1.MaaSSubscription:
		o.Spec.Owner.Users = []string{user}
	case *v1alpha1.MaaSAuthPolicy:
		o.Spec.Subjects.Users = []string{user}
	}
}
