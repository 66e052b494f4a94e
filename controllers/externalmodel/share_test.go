// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
)

// apart is longer than what tells the ages of two objects apart.
const apart = 1100 * time.Millisecond

var _ = Describe("ExternalModels of one host", func() {
	var older, younger world
	var shared string
	BeforeEach(func(ctx SpecContext) {
		older, younger = newWorld(ctx), newWorld(ctx)
		shared = "api." + older.namespace + ".example.com"
	})

	// begin creates two models of the host, the second one younger.
	begin := func(change ...func(*v1alpha1.ExternalModel)) {
		GinkgoHelper()
		older.create(older.model("gpt", host(shared)))
		Eventually(older.exists(entryOf("gpt", shared))).Should(BeTrue())
		made := older.stored(Default, "gpt").CreationTimestamp.Time
		Eventually(func() time.Duration { return time.Since(made) }).Should(BeNumerically(">", apart))
		younger.create(younger.model("gpt", append(change, host(shared))...))
		Eventually(younger.exists(route("maas-gpt"))).Should(BeTrue())
	}
	// known tells whether any ServiceEntry makes the host known.
	known := func() bool {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(serviceEntry("").GroupVersionKind())
		Expect(suite.Admin.List(older.ctx, &list)).To(Succeed())
		for i := range list.Items {
			if external.HostOf(&list.Items[i]) == shared {
				return true
			}
		}
		return false
	}
	ports := func(w world) func() string {
		return func() string {
			found, _, err := unstructured.NestedSlice(w.get(entryOf("gpt", shared)).Object, "spec", "ports")
			Expect(err).NotTo(HaveOccurred())
			text := ""
			for _, port := range found {
				p, _ := port.(map[string]any)
				text += fmt.Sprintf("%v ", p["name"])
			}
			return text
		}
	}

	It("have one ServiceEntry with the ports of all, and TLS where one asks for it (W-29)", func() {
		begin(func(m *v1alpha1.ExternalModel) { m.Spec.Port, m.Spec.TLS = 8080, new(false) })
		Eventually(ports(older)).Should(Equal("https-443 http-8080 "))
		Consistently(younger.exists(entryOf("gpt", shared))).WithTimeout(quiet).Should(BeFalse())
		Expect(younger.exists(ruleOf("gpt", shared))(Default)).To(BeFalse())
		younger.publish("gpt")
		Eventually(younger.says("gpt")).Should(Equal("Ready/Reconciled"))

		younger.edit("gpt", func(m *v1alpha1.ExternalModel) { m.Spec.Port = 443 })
		Eventually(ports(older)).Should(Equal("https-443 "))
		Eventually(younger.message("gpt", v1alpha1.ConditionHostAccepted)).Should(ContainSubstring("over TLS"))
	})

	It("hand it on without a gap when the oldest goes", func() {
		begin()
		older.remove(older.model("gpt"))
		Eventually(func(g Gomega) {
			if !known() {
				StopTrying("nobody knows the host").Now()
			}
			g.Expect(younger.exists(entryOf("gpt", shared))(g)).To(BeTrue())
			g.Expect(younger.exists(ruleOf("gpt", shared))(g)).To(BeTrue())
			g.Expect(older.exists(entryOf("gpt", shared))(g)).To(BeFalse())
		}).Should(Succeed())
	})

	It("hand it on without a gap when the oldest goes to another host", func() {
		begin()
		older.edit("gpt", host("other."+older.namespace+".example.com"))
		Eventually(func(g Gomega) {
			if !known() {
				StopTrying("nobody knows the host").Now()
			}
			g.Expect(younger.exists(entryOf("gpt", shared))(g)).To(BeTrue())
			g.Expect(older.exists(entryOf("gpt", shared))(g)).To(BeFalse())
			g.Expect(external.HostOf(older.get(entryOf("gpt", "other."+older.namespace+".example.com")))).To(Equal("other." + older.namespace + ".example.com"))
		}).Should(Succeed())
	})

	It("swap their hosts without waiting for each other", func() {
		begin()
		other := "other." + older.namespace + ".example.com"
		younger.edit("gpt", host(other))
		Eventually(younger.exists(entryOf("gpt", other))).Should(BeTrue())
		older.edit("gpt", host(other))
		younger.edit("gpt", host(shared))
		for _, object := range []*unstructured.Unstructured{entryOf("gpt", other), ruleOf("gpt", other)} {
			Eventually(older.exists(object)).Should(BeTrue(), object.GetKind())
			Eventually(younger.exists(object)).Should(BeFalse(), object.GetKind())
		}
		for _, object := range []*unstructured.Unstructured{entryOf("gpt", shared), ruleOf("gpt", shared)} {
			Eventually(younger.exists(object)).Should(BeTrue(), object.GetKind())
			Eventually(older.exists(object)).Should(BeFalse(), object.GetKind())
		}
	})

	It("lead nowhere while the provider would be spoken to without the TLS that is asked for", func() {
		begin(func(m *v1alpha1.ExternalModel) { m.Spec.Port, m.Spec.TLS = 8080, new(false) })
		younger.publish("gpt")
		Eventually(younger.says("gpt")).Should(Equal("Ready/Reconciled"))
		older.annotate(ruleOf("gpt", shared), v1alpha1.AnnotationManaged, "false")
		younger.edit("gpt", func(m *v1alpha1.ExternalModel) { m.Spec.TLS = new(true) })
		Eventually(younger.leading("maas-gpt")).Should(Equal("0 of 2"))
		Eventually(younger.says("gpt")).Should(Equal("Pending/RouteNotGuarded"))
		Expect(younger.message("gpt", "Ready")()).To(ContainSubstring(older.namespace))
		Consistently(younger.leading("maas-gpt")).WithTimeout(quiet).Should(Equal("0 of 2"))

		older.annotate(ruleOf("gpt", shared), v1alpha1.AnnotationManaged, "true")
		Eventually(younger.says("gpt")).Should(Equal("Ready/Reconciled"))
		Expect(younger.leading("maas-gpt")()).To(Equal("2 of 2"))
	})

	It("of one target are told apart by their paths, and one that is governed has the header (W-09)", func() {
		begin(target(older.namespace + "/gpt"))
		Expect(older.leading("maas-gpt")()).To(HaveSuffix("of 1"), "whoever makes one keeps nobody from the name")
		younger.publish("gpt")
		Eventually(younger.leading("maas-gpt")).Should(Equal("2 of 2"))
		Eventually(older.condition("gpt", v1alpha1.ConditionModelIdentityUnique)).Should(Equal("False/ModelNameConflict"))
		Expect(older.message("gpt", v1alpha1.ConditionModelIdentityUnique)()).To(ContainSubstring(younger.namespace + "/gpt"))
		Expect(younger.condition("gpt", v1alpha1.ConditionModelIdentityUnique)(Default)).To(Equal("True/UniqueIdentity"))

		older.publish("gpt")
		Eventually(older.leading("maas-gpt")).Should(Equal("1 of 1"))
		Expect(younger.leading("maas-gpt")()).To(Equal("2 of 2"), "nobody is without an answer because somebody else is governed")
		younger.remove(younger.model("gpt"))
		Eventually(older.leading("maas-gpt")).Should(Equal("2 of 2"))
		Eventually(older.condition("gpt", v1alpha1.ConditionModelIdentityUnique)).Should(Equal("True/UniqueIdentity"))
	})
})
