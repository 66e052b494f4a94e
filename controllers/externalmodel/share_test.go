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
		Eventually(older.exists(serviceEntry("maas-gpt"))).Should(BeTrue())
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
			found, _, err := unstructured.NestedSlice(w.get(serviceEntry("maas-gpt")).Object, "spec", "ports")
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
		Consistently(younger.exists(serviceEntry("maas-gpt"))).WithTimeout(quiet).Should(BeFalse())
		Expect(younger.exists(destinationRule("maas-gpt"))(Default)).To(BeFalse())
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
			g.Expect(younger.exists(serviceEntry("maas-gpt"))(g)).To(BeTrue())
			g.Expect(younger.exists(destinationRule("maas-gpt"))(g)).To(BeTrue())
			g.Expect(older.exists(serviceEntry("maas-gpt"))(g)).To(BeFalse())
		}).Should(Succeed())
	})

	It("hand it on without a gap when the oldest goes to another host", func() {
		begin()
		older.edit("gpt", host("other."+older.namespace+".example.com"))
		Eventually(func(g Gomega) {
			if !known() {
				StopTrying("nobody knows the host").Now()
			}
			g.Expect(younger.exists(serviceEntry("maas-gpt"))(g)).To(BeTrue())
			g.Expect(external.HostOf(older.get(serviceEntry("maas-gpt")))).To(Equal("other." + older.namespace + ".example.com"))
		}).Should(Succeed())
	})

	It("of one target are told apart by their paths, and the oldest gets the header (W-09)", func() {
		begin(target(older.namespace + "/gpt"))
		Eventually(younger.condition("gpt", v1alpha1.ConditionModelIdentityUnique)).Should(Equal("False/ModelNameConflict"))
		Expect(younger.leading("maas-gpt")()).To(HaveSuffix("of 1"))
		Expect(older.leading("maas-gpt")()).To(HaveSuffix("of 2"))
		older.remove(older.model("gpt"))
		Eventually(younger.leading("maas-gpt")).Should(HaveSuffix("of 2"))
		Eventually(younger.condition("gpt", v1alpha1.ConditionModelIdentityUnique)).Should(Equal("True/UniqueIdentity"))
	})
})
