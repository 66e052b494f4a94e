// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// quiet is for how long it is looked that nothing changes.
const quiet = 2 * time.Second

var _ = Describe("An ExternalModel", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("leads nowhere until it is guarded, and then to its provider (A53, W-27)", func() {
		w.readable()
		w.create(w.model("gpt"), w.secret("gpt-key", map[string]string{v1alpha1.LabelPayloadManaged: "true"}, map[string]string{"api-key": "s3cr3t"}))
		Eventually(w.says("gpt")).Should(Equal("Pending/RouteNotGuarded"))
		Eventually(w.condition("gpt", v1alpha1.ConditionRouteAccepted)).Should(Equal("True/RouteAccepted"))
		Consistently(w.leading("maas-gpt")).WithTimeout(quiet).Should(Equal("0 of 1"), "no policy, no header")

		w.publish("gpt")
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		Expect(w.leading("maas-gpt")()).To(Equal("2 of 2"))
		for _, kind := range []v1alpha1.ConditionType{v1alpha1.ConditionHostAccepted, v1alpha1.ConditionCredentialAvailable, v1alpha1.ConditionModelIdentityUnique} {
			Expect(w.condition("gpt", kind)(Default)).To(HavePrefix("True/"))
		}
		ref := &v1alpha1.MaaSModelRef{}
		Expect(suite.Admin.Get(w.ctx, w.key("gpt"), ref)).To(Succeed())
		Expect(ref.Status.HTTPRouteName).To(Equal("maas-gpt"))
	})

	It("owns what is made for it, and names itself in the path only (A47, 9.7.116)", func(ctx SpecContext) {
		w.create(w.model("gpt"))
		Eventually(w.says("gpt")).Should(Equal("Pending/RouteNotGuarded"))
		m := w.stored(Default, "gpt")
		for _, object := range w.children("gpt") {
			live := w.get(object)
			Expect(metav1.GetControllerOf(live)).To(HaveField("UID", m.UID), live.GetKind())
			Expect(live.GetLabels()).To(And(HaveKeyWithValue(v1alpha1.LabelExternalModel, "gpt"), HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedByValue)))
		}
		r := &gwapiv1.HTTPRoute{}
		Expect(suite.Admin.Get(ctx, w.key("maas-gpt"), r)).To(Succeed())
		Expect(*r.Spec.Rules[0].Matches[0].Path.Value).To(Equal("/" + w.namespace + "/gpt"))
		Expect(r.Spec.Rules).To(HaveLen(1))

		w.publish("gpt")
		Eventually(w.leading("maas-gpt")).Should(HaveSuffix("of 2"))
		Expect(suite.Admin.Get(ctx, w.key("maas-gpt"), r)).To(Succeed())
		Expect(r.Spec.Rules[1].Matches[0].Headers[0].Value).To(Equal(m.Spec.TargetModel))
	})

	It("is left in peace, and leaves in peace, once it is as it should be (A53)", func() {
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(w.leading("maas-gpt")).Should(Equal("2 of 2"))
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		before := map[string]string{}
		for _, object := range w.children("gpt") {
			before[object.GetKind()] = w.get(object).GetResourceVersion()
		}
		status := w.stored(Default, "gpt").ResourceVersion
		mark := audit.Now()
		generation := w.get(route("maas-gpt")).GetGeneration()
		Consistently(func(g Gomega) {
			g.Expect(w.stored(g, "gpt").ResourceVersion).To(Equal(status))
			g.Expect(w.get(route("maas-gpt")).GetGeneration()).To(Equal(generation))
		}).WithTimeout(quiet).Should(Succeed())
		for _, object := range []*unstructured.Unstructured{service("maas-gpt"), w.entry("gpt"), w.rule("gpt")} {
			Expect(w.get(object).GetResourceVersion()).To(Equal(before[object.GetKind()]), object.GetKind())
		}
		writes, err := suite.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.InNamespace(w.namespace))
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).To(BeEmpty())
	})

	It("says what its Secret lacks, and takes notice when it is as it should be (A54)", func() {
		w.readable()
		says := w.condition("gpt", v1alpha1.ConditionCredentialAvailable)
		touch := func() {
			w.edit("gpt", func(m *v1alpha1.ExternalModel) { m.Annotations = map[string]string{"touched": time.Now().String()} })
		}
		secret := w.secret("gpt-key", nil, map[string]string{"other": "x"})
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(says).Should(Equal("False/CredentialNotFound"))
		Eventually(w.published("gpt")).Should(And(HavePrefix("Unhealthy/BackendNotReady"), ContainSubstring("gpt-key")))
		change := func(edit func()) {
			before := secret.DeepCopy()
			edit()
			Expect(suite.Admin.Patch(w.ctx, secret, client.MergeFrom(before))).To(Succeed())
			touch()
		}
		w.create(secret)
		touch()
		Eventually(says).Should(Equal("False/CredentialIncomplete"))
		change(func() { secret.Data["api-key"] = []byte("s3cr3t") })
		Eventually(says).Should(Equal("False/CredentialNotLabelled"))
		change(func() { secret.Labels = map[string]string{"inference.networking.k8s.io/bbr-managed": "true"} })
		Eventually(w.message("gpt", v1alpha1.ConditionCredentialAvailable)).Should(ContainSubstring("earlier release"))
		change(func() { secret.Labels[v1alpha1.LabelPayloadManaged] = "true" })
		Eventually(says).Should(Equal("True/CredentialAvailable"))
		Eventually(w.published("gpt")).Should(Equal("Ready/Reconciled "))
	})

	It("does without a look at its Secret where nobody allowed it, and says so", func() {
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		Expect(w.condition("gpt", v1alpha1.ConditionCredentialAvailable)(Default)).To(Equal("Unknown/CredentialNotReadable"))
		events, err := suite.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.ByResource("", "secrets"), audit.ByVerb("list", "watch"))
		Expect(err).NotTo(HaveOccurred())
		Expect(events).To(BeEmpty())
	})

	It("has nothing made for a host that may be a Service, also when that shows later (W-29)", func(ctx SpecContext) {
		w.create(w.model("direct", host("minio."+w.namespace)))
		Eventually(w.says("direct")).Should(Equal("Failed/HostRefused"))
		for _, object := range children("direct", "minio."+w.namespace) {
			Expect(w.exists(object)(Default)).To(BeFalse(), object.GetKind())
		}
		later := w.namespace + "-later"
		w.create(w.model("later", host("minio."+later)), w.model("broken", host("etcd."+later)))
		Eventually(w.says("later")).Should(Equal("Pending/RouteNotGuarded"))
		Eventually(w.says("broken")).Should(Equal("Pending/RouteNotGuarded"))
		w.edit("broken", func(m *v1alpha1.ExternalModel) { m.Annotations = map[string]string{v1alpha1.AnnotationTLS: "maybe"} })
		Eventually(w.says("broken")).Should(Equal("Failed/InvalidSpec"))
		suite.CreateNamespaces(ctx, later)
		Eventually(w.says("later")).Should(Equal("Failed/HostRefused"))
		Eventually(w.condition("broken", v1alpha1.ConditionHostAccepted)).Should(Equal("False/HostRefused"))
		for _, object := range append(children("later", "minio."+later), children("broken", "etcd."+later)...) {
			Eventually(w.exists(object)).Should(BeFalse(), "%s %s", object.GetKind(), object.GetName())
		}
	})

	It("says what is wrong with an annotation, and is not tried again for ever (W-27)", func() {
		w.create(w.model("gpt", func(m *v1alpha1.ExternalModel) { m.Annotations = map[string]string{v1alpha1.AnnotationPort: "https"} }))
		Eventually(w.says("gpt")).Should(Equal("Failed/InvalidSpec"))
		Expect(w.message("gpt", v1alpha1.ConditionReady)()).To(ContainSubstring("spec.port"))
		Expect(w.condition("gpt", v1alpha1.ConditionRouteAccepted)(Default)).To(Equal("False/RouteNotFound"))
		status := w.stored(Default, "gpt").ResourceVersion
		Consistently(func(g Gomega) string { return w.stored(g, "gpt").ResourceVersion }).WithTimeout(quiet).Should(Equal(status))
		w.edit("gpt", func(m *v1alpha1.ExternalModel) { m.Spec.Port = 8443 })
		Eventually(w.says("gpt")).Should(Equal("Pending/RouteNotGuarded"))
	})

	It("does not say that there is no route while one serves although the spec is broken", func() {
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		Eventually(w.leading("maas-gpt")).Should(Equal("2 of 2"))
		w.edit("gpt", func(m *v1alpha1.ExternalModel) { m.Annotations = map[string]string{v1alpha1.AnnotationTLS: "maybe"} })
		Eventually(w.message("gpt", v1alpha1.ConditionReady)).Should(ContainSubstring("spec.tls"))
		Expect(w.leading("maas-gpt")()).To(Equal("2 of 2"))
		Expect(w.condition("gpt", v1alpha1.ConditionRouteAccepted)(Default)).To(Equal("True/RouteAccepted"))
	})

	It("keeps what somebody opted out, and removes what TLS is not used for any more (9.7.113, 9.7.114, 9.7.115)", func() {
		w.create(w.model("kept"), w.model("gone"), w.model("odd"))
		for _, name := range []string{"kept", "gone", "odd"} {
			Eventually(w.exists(w.rule(name))).Should(BeTrue())
		}
		w.annotate(w.rule("kept"), v1alpha1.AnnotationManaged, "false")
		w.annotate(w.rule("odd"), v1alpha1.AnnotationManaged, "FALSE")
		for _, name := range []string{"kept", "gone", "odd"} {
			w.edit(name, func(m *v1alpha1.ExternalModel) { m.Spec.TLS, m.Spec.Port = new(false), 80 })
		}
		Eventually(w.exists(w.rule("gone"))).Should(BeFalse())
		Eventually(w.exists(w.rule("odd"))).Should(BeFalse())
		Consistently(w.exists(w.rule("kept"))).WithTimeout(quiet).Should(BeTrue())
	})

	It("puts back what somebody changed or deleted", func() {
		w.create(w.model("gpt"))
		w.publish("gpt")
		Eventually(w.leading("maas-gpt")).Should(Equal("2 of 2"))
		live := w.get(w.entry("gpt"))
		before := live.DeepCopy()
		Expect(unstructured.SetNestedStringSlice(live.Object, []string{"evil.example.com"}, "spec", "hosts")).To(Succeed())
		Expect(suite.Admin.Patch(w.ctx, live, client.MergeFrom(before))).To(Succeed())
		Eventually(func() []string {
			hosts, _, err := unstructured.NestedStringSlice(w.get(w.entry("gpt")).Object, "spec", "hosts")
			Expect(err).NotTo(HaveOccurred())
			return hosts
		}).Should(Equal([]string{"gpt." + w.namespace + ".example.com"}))
		live = w.get(service("maas-gpt"))
		before = live.DeepCopy()
		Expect(unstructured.SetNestedField(live.Object, "evil.example.com", "spec", "externalName")).To(Succeed())
		Expect(suite.Admin.Patch(w.ctx, live, client.MergeFrom(before))).To(Succeed())
		Eventually(func() string {
			name, _, err := unstructured.NestedString(w.get(service("maas-gpt")).Object, "spec", "externalName")
			Expect(err).NotTo(HaveOccurred())
			return name
		}).Should(Equal(w.host("gpt")))
		for _, object := range w.children("gpt") {
			uid := w.get(object).GetUID()
			w.remove(object)
			Eventually(func(g Gomega) {
				again := object.DeepCopy()
				g.Expect(suite.Admin.Get(w.ctx, w.key(object.GetName()), again)).To(Succeed())
				g.Expect(again.GetUID()).NotTo(Equal(uid))
			}).Should(Succeed(), object.GetKind())
		}
		Eventually(w.leading("maas-gpt")).Should(Equal("2 of 2"))
	})

	It("takes the place of what an earlier release called otherwise", func() {
		w.create(w.model("gpt"))
		Eventually(w.exists(w.entry("gpt"))).Should(BeTrue())
		former := w.get(w.entry("gpt")).DeepCopy()
		former.SetName("maas-gpt")
		former.SetResourceVersion("")
		former.SetUID("")
		former.SetManagedFields(nil)
		w.create(former)
		Eventually(w.exists(serviceEntry("maas-gpt"))).Should(BeFalse())
		Expect(w.exists(w.entry("gpt"))(Default)).To(BeTrue())
	})

	It("leaves alone what is not the operator's, and says so", func() {
		w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "maas-gpt"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}})
		w.create(w.model("gpt"))
		Eventually(w.says("gpt")).Should(Equal("Failed/ForeignObject"))
		Expect(w.exists(route("maas-gpt"))(Default)).To(BeFalse())
	})

	It("takes along all that was made for it", func() {
		w.create(w.model("gpt"))
		Eventually(w.exists(route("maas-gpt"))).Should(BeTrue())
		w.remove(w.model("gpt"))
		for _, object := range w.children("gpt") {
			Eventually(w.exists(object)).Should(BeFalse(), object.GetKind())
		}
	})
})
