// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// deleted are the namespaces that specs deleted, with the time.
var deleted = map[string]time.Time{}

// inDeletedNamespace holds for creations in a namespace while it is being deleted, which
// the API server forbids to everybody.
func inDeletedNamespace(e *audit.Event) bool {
	since, is := deleted[e.Namespace]
	return is && !e.Received.Before(since)
}

// removeNamespaces deletes namespaces at once and waits until there are others of their
// names.
func removeNamespaces(ctx context.Context, names ...string) {
	GinkgoHelper()
	former := map[string]*corev1.Namespace{}
	for _, name := range names {
		former[name] = read(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}).DeepCopy()
		deleted[name] = time.Now()
		remove(ctx, former[name])
	}
	var tenants v1alpha1.MaasTenantConfigList
	Expect(on.Admin.List(ctx, &tenants)).To(Succeed())
	for _, name := range names {
		Eventually(func() bool {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			return exists(ctx, ns) && ns.UID != former[name].UID && ns.DeletionTimestamp == nil
		}).Should(BeTrue(), name)
		refused, err := on.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden(), audit.InNamespace(name), audit.Since(deleted[name]), audit.Not(audit.IsEvent()))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(refused)).To(BeNumerically("<", patience*len(tenants.Items)), name)
	}
}

// patience is how often the operator may try to put back what goes with a namespace, for
// each tenant: a few times every object.
const patience = 50

var _ = Describe("a tenant", Ordered, func() {
	const sturdy = tenantOf("sturdy")
	namespace := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	// uninstall deletes a CRD and all its objects.
	uninstall := func(ctx context.Context, name string) {
		GinkgoHelper()
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		o.SetName(name)
		remove(ctx, o)
		Eventually(there(ctx, o)).Should(BeFalse())
	}

	BeforeAll(func(ctx SpecContext) {
		setUp(ctx, sturdy)
		work(ctx, theDefault)
	})

	It("says which API went away, keeps what runs, and goes on when it is back (A84, C46)", func(ctx SpecContext) {
		before := pictureOf(ctx, sturdy)()
		uninstall(ctx, "authconfigs.authorino.kuadrant.io")
		Eventually(sturdy.services(ctx)).Should(Equal("Pending DependenciesNotAvailable"))
		Expect(sturdy.message(ctx, v1alpha1.ConditionDependenciesAvailable)).To(ContainSubstring("authconfigs.authorino.kuadrant.io"))
		Expect(differs(before, pictureOf(ctx, sturdy))()).To(BeEmpty())
		Expect(on.Install(ctx, testenv.Authorino)).To(Succeed())
		work(ctx, sturdy, theDefault)
	})

	It("works without optional APIs, says so, and uses them when they are back (A84, C46)", func(ctx SpecContext) {
		before := pictureOf(ctx, sturdy)()
		uninstall(ctx, "certificates.cert-manager.io")
		Eventually(sturdy.services(ctx)).Should(Equal("Degraded Reconciled"))
		Expect(sturdy.message(ctx, v1alpha1.ConditionDegraded)).To(ContainSubstring("cert-manager"))
		Expect(recorded(ctx, sturdy)()).NotTo(ContainElement(HavePrefix("Certificate ")))
		Expect(on.Install(ctx, testenv.CertManager)).To(Succeed())
		work(ctx, sturdy, theDefault)
		Eventually(differs(before, pictureOf(ctx, sturdy))).Should(BeEmpty())
	})

	It("is made anew when its namespace was deleted, and that of everything that runs (C40, C43)", func(ctx SpecContext) {
		before := namesOf(objectsOf(ctx, sturdy))
		removeNamespaces(ctx, sturdy.namespace(), infra)
		Eventually(sturdy.services(ctx)).Should(Equal("Failed PrerequisitesNotMet"))
		Expect(sturdy.message(ctx, v1alpha1.ConditionPrerequisitesAvailable)).To(ContainSubstring(v1alpha1.DatabaseSecretName))
		Eventually(func() map[string]string { return read(ctx, namespace(infra)).Labels }).Should(HaveKeyWithValue(v1alpha1.LabelGeneratedNamespace, "true"))
		create(ctx, databaseSecret(infra))
		work(ctx, sturdy, theDefault)
		Expect(namesOf(objectsOf(ctx, sturdy))).To(Equal(before))
	})

	It("is kept when the namespace of AITenants lacks its label (C40)", func(ctx SpecContext) {
		registry := namespace(stage.AITenantNamespace)
		edit(ctx, registry, func(ns *corev1.Namespace) {
			delete(ns.Labels, v1alpha1.LabelGeneratedNamespace)
			ns.Labels["example.com/mine"] = "kept"
		})
		Eventually(func() map[string]string { return read(ctx, registry).Labels }).Should(And(
			HaveKeyWithValue(v1alpha1.LabelGeneratedNamespace, "true"), HaveKeyWithValue("example.com/mine", "kept")))
	})
})
