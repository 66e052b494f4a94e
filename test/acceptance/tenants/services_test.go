// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

var _ = Describe("the services of a tenant", Ordered, func() {
	const ops = tenantOf("ops")
	service := func() *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: infra, Name: "maas-api-ops"}}
	}
	names := func(ctx context.Context) func() []string {
		return func() []string { return namesOf(objectsOf(ctx, ops)) }
	}
	manage := func(ctx context.Context, state string) {
		GinkgoHelper()
		ops.annotate(ctx, v1alpha1.AnnotationManagementState, state)
	}
	var all []string

	BeforeAll(func(ctx SpecContext) {
		setUp(ctx, ops)
		all = names(ctx)()
	})

	It("are all in the inventory, and nothing else is", func(ctx SpecContext) {
		Expect(recorded(ctx, ops)()).To(Equal(all))
		Expect(len(all)).To(BeNumerically(">", 12))
	})

	It("are left alone while unmanaged, also what is deleted (E-108)", func(ctx SpecContext) {
		manage(ctx, "Unmanaged")
		Eventually(ops.services(ctx)).Should(Equal(" ManagementStateIdle"))
		remove(ctx, service())
		edit(ctx, deploymentOf(ops), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
		Consistently(there(ctx, service())).Should(BeFalse())
		Expect(read(ctx, deploymentOf(ops)).Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		Expect(recorded(ctx, ops)()).To(Equal(all))
		manage(ctx, "")
		work(ctx, ops)
		Expect(names(ctx)()).To(Equal(all))
		Expect(read(ctx, deploymentOf(ops)).Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
	})

	It("go when they are to be removed, and come back as they were (E-106)", func(ctx SpecContext) {
		before := pictureOf(ctx, ops)()
		manage(ctx, "Removed")
		Eventually(ops.services(ctx)).Should(Equal("Pending Removed"))
		Expect(objectsOf(ctx, ops)).To(BeEmpty())
		Expect(recorded(ctx, ops)()).To(BeEmpty())
		Eventually(ops.state(ctx)).Should(Equal("Pending TenantConfigNotReady"))
		manage(ctx, "Managed")
		work(ctx, ops)
		Expect(differs(before, pictureOf(ctx, ops))()).To(BeEmpty())
	})

	It("stay as they are when nobody knows the management state (E-109, E-111)", func(ctx SpecContext) {
		before := pictureOf(ctx, ops)()
		manage(ctx, "Paused")
		Eventually(ops.services(ctx)).Should(Equal("Failed UnexpectedManagementState"))
		Expect(read(ctx, ops.config()).Status.InfraNamespace).To(Equal(infra))
		Expect(differs(before, pictureOf(ctx, ops))()).To(BeEmpty())
		manage(ctx, "")
		work(ctx, ops)
	})

	It("say every warning at once (E-112, A85)", func(ctx SpecContext) {
		Expect(ops.degraded(ctx)()).To(Equal("False NoWarnings"))
		ops.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "many")
		Eventually(ops.degraded(ctx)).Should(Equal("True InvalidReplicaAnnotation"))
		edit(ctx, authorino(), func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, false, "spec", "listener", "tls", "enabled")).To(Succeed())
		})
		Eventually(ops.degraded(ctx)).Should(Equal("True MultipleWarnings"))
		Expect(ops.message(ctx, v1alpha1.ConditionDegraded)).To(MatchRegexp(`^No Authorino instance .*; MaasTenantConfig .*replicas`))
		Expect(ops.services(ctx)()).To(Equal("Degraded Reconciled"), "it works all the same")
		Expect(ops.state(ctx)()).To(Equal(active))
		ops.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "1")
		Eventually(ops.degraded(ctx)).Should(Equal("True PrerequisitesWarning"))
		edit(ctx, authorino(), func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, true, "spec", "listener", "tls", "enabled")).To(Succeed())
		})
		Eventually(ops.degraded(ctx)).Should(Equal("False NoWarnings"))
		Expect(ops.services(ctx)()).To(Equal(working))
	})

	It("are not ready while Pods are missing, and tell by themselves when they come (E-120)", func(ctx SpecContext) {
		cordon := func(ctx context.Context, yes bool) {
			GinkgoHelper()
			var nodes corev1.NodeList
			Expect(on.Admin.List(ctx, &nodes)).To(Succeed())
			for i := range nodes.Items {
				edit(ctx, &nodes.Items[i], func(n *corev1.Node) { n.Spec.Unschedulable = yes })
			}
		}
		cordon(ctx, true)
		DeferCleanup(func(ctx SpecContext) { cordon(ctx, false) })
		ops.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "2")
		Eventually(ops.services(ctx)).Should(Equal("Pending DeploymentsNotReady"))
		Eventually(ops.state(ctx)).Should(Equal("Pending TenantConfigNotReady"))
		cordon(ctx, false)
		work(ctx, ops)
		ops.annotate(ctx, v1alpha1.AnnotationMaasAPIReplicas, "")
		Eventually(func() *int32 { return read(ctx, deploymentOf(ops)).Spec.Replicas }).Should(HaveValue(BeEquivalentTo(1)))
		work(ctx, ops)
	})

	It("leave alone what opted out or is another controller's (E-143, E-144, C35)", func(ctx SpecContext) {
		edit(ctx, service(), func(s *corev1.Service) {
			setAnnotation(s, v1alpha1.AnnotationManaged, "false")
			s.Spec.Ports[0].Port = 9999
		})
		edit(ctx, deploymentOf(ops), func(d *appsv1.Deployment) {
			d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service().Name, UID: read(ctx, service()).UID, Controller: new(true)}}
			d.Spec.Replicas = new(int32(3))
		})
		Eventually(ops.degraded(ctx)).Should(Equal("True MultipleWarnings"))
		Expect(ops.message(ctx, v1alpha1.ConditionDegraded)).To(And(
			ContainSubstring("Service "+infra+"/maas-api-ops is annotated"), ContainSubstring("Deployment "+infra+"/maas-api-ops is owned by another controller")))
		Expect(read(ctx, service()).Spec.Ports[0].Port).To(BeEquivalentTo(9999))
		Expect(read(ctx, deploymentOf(ops)).Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
		edit(ctx, deploymentOf(ops), func(d *appsv1.Deployment) { d.OwnerReferences = nil })
		edit(ctx, service(), func(s *corev1.Service) { setAnnotation(s, v1alpha1.AnnotationManaged, "") })
		Eventually(ops.degraded(ctx)).Should(Equal("False NoWarnings"))
		work(ctx, ops)
		Expect(read(ctx, service()).Spec.Ports[0].Port).To(BeEquivalentTo(8443))
		Expect(read(ctx, deploymentOf(ops)).Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
	})

	It("come back at once when somebody deletes them, whatever they are (E-166)", func(ctx SpecContext) {
		before := pictureOf(ctx, ops)()
		for _, o := range objectsOf(ctx, ops) {
			remove(ctx, &o)
		}
		Eventually(differs(before, pictureOf(ctx, ops)), "10s").Should(BeEmpty())
		work(ctx, ops)
	})
})

var _ = Describe("MaasTenantConfigs that no AITenant made", Ordered, func() {
	stray := func(namespace string, labels, annotations map[string]string) *v1alpha1.MaasTenantConfig {
		return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName, Labels: labels, Annotations: annotations,
		}}
	}
	said := func(ctx context.Context, c *v1alpha1.MaasTenantConfig) func() string {
		return func() string {
			read(ctx, c)
			return sum(string(c.Status.Phase), c.Status.Conditions, c.Generation)
		}
	}
	complete := map[string]string{
		v1alpha1.AnnotationAITenantName: string(theDefault), v1alpha1.AnnotationAITenantNamespace: stage.AITenantNamespace,
	}
	var before map[string]string

	BeforeAll(func(ctx SpecContext) {
		work(ctx, theDefault)
		before = pictureOf(ctx, theDefault)()
	})
	AfterEach(func(ctx SpecContext) {
		Expect(differs(before, pictureOf(ctx, theDefault))()).To(BeEmpty(), "the default tenant's objects")
	})

	It("are ignored without the label of one, and may go as they please (E-100, E-117, E-119)", func(ctx SpecContext) {
		ensureNamespace(ctx, "stray-plain")
		c := stray("stray-plain", nil, nil)
		controllerutil.AddFinalizer(c, "example.com/held")
		create(ctx, c)
		Consistently(said(ctx, c)).Should(Equal("not judged yet"))
		Expect(c.Finalizers).To(Equal([]string{"example.com/held"}))
		remove(ctx, c)
		Consistently(said(ctx, c), "1s").Should(Equal("not judged yet"))
		edit(ctx, c, func(c *v1alpha1.MaasTenantConfig) { c.Finalizers = nil })
		Eventually(there(ctx, c)).Should(BeFalse())
	})

	It("are never taken for the default tenant's when their marks are not whole (E-113 to E-117)", func(ctx SpecContext) {
		for name, marks := range map[string]struct{ labels, annotations map[string]string }{
			"stray-nameless": {map[string]string{v1alpha1.LabelManagedByAITenant: "true"}, complete},
			"stray-unowned":  {map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: "ghost"}, nil},
			"stray-default": {map[string]string{
				v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: string(theDefault), v1alpha1.LabelTenantNamespace: stage.TenantNamespace,
			}, complete},
			"stray-ghost": {
				map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenantName: "ghost"},
				map[string]string{v1alpha1.AnnotationAITenantName: "ghost", v1alpha1.AnnotationAITenantNamespace: stage.AITenantNamespace},
			},
		} {
			create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelManagedByAITenant: "true", v1alpha1.LabelTenant: "ghost"}}})
			c := stray(name, marks.labels, marks.annotations)
			create(ctx, c)
			Eventually(said(ctx, c)).Should(Equal("Failed InvalidGateway"), name)
			Expect(objectsOf(ctx, tenantOf(name))).To(BeEmpty())
			remove(ctx, c)
			Eventually(there(ctx, c)).Should(BeFalse(), "nothing holds it")
		}
	})
})
