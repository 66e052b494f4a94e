// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenants shows from outside how tenants are set up, kept and told apart:
// the operator's own program runs on a real API server with its controllers and
// garbage collector, and each spec does what an administrator would and judges what
// the cluster then holds. Pods only pretend to run here.
package tenants

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestTenants(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(60 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(quiet)
	RunSpecs(t, "tenants, from outside")
}

const (
	// quiet is how long something must not happen: longer than the longest pause
	// between a change and what follows from it.
	quiet = 2 * time.Second
	// startTimeout is generous: with a cold cache it compiles the operator.
	startTimeout = 20 * time.Minute
	// infra is where what runs for tenants is.
	infra = "odh-ai-gateway-infra"
	// image is that of maas-api, as an installation would name it.
	image = "registry.example.com/maas-api:tested"
)

// on is the stage that all specs share. Each spec has tenants of its own.
var on *stage.Stage

// The operator starts before its neighbours are there, with the database's address
// where an earlier release had it, and is not started again for them.
var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = stage.Start(ctx, stage.Options{
		Tenants: true, Controllers: true, WithoutOperator: true, CRDs: []testenv.CRDSet{testenv.MaaS}, Log: GinkgoWriter,
		Args:     []string{"--monitoring-namespace="}, // A84
		Env:      []string{"RELATED_IMAGE_ODH_MAAS_API_IMAGE=" + image},
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 50*time.Millisecond)}},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	create(ctx, databaseSecret(testenv.OperatorNamespace))
	revoke, stop := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(stop)
	go finishJobs(revoke)
	Expect(on.Operator.Start(ctx)).To(Succeed())

	By("saying what is missing (A84)")
	Eventually(theDefault.state(ctx)).Should(Equal("Failed GatewayCheckFailed"))
	Eventually(theDefault.services(ctx)).Should(Equal("Pending DependenciesNotAvailable"))
	Expect(theDefault.message(ctx, v1alpha1.ConditionDependenciesAvailable)).To(And(
		ContainSubstring("gateways.gateway.networking.k8s.io"), ContainSubstring("authconfigs.authorino.kuadrant.io")))

	By("going on when it comes (A84, E-24)")
	Expect(on.Install(ctx, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.Istio, testenv.CertManager)).To(Succeed())
	ensureNamespace(ctx, authorinoNamespace)
	create(ctx, authorino())
	Eventually(theDefault.state(ctx)).Should(Equal(active))
	Eventually(theDefault.services(ctx)).Should(Equal(working))
}, NodeTimeout(startTimeout))

// The operator's rights suffice, and it never touches a Gateway (E-31): after all
// specs, the API server refused nothing, and Gateways were only read.
var _ = AfterSuite(func() {
	if on == nil {
		return // It did not start, which has been reported.
	}
	byOperator := audit.ByUser(testenv.OperatorUser)
	forbidden, err := on.Env.Audit().Events(byOperator, audit.Forbidden(), audit.Not(inDeletedNamespace), audit.Not(audit.OfTerminatingKind()))
	Expect(err).NotTo(HaveOccurred())
	Expect(forbidden).To(BeEmpty(), "requests of the operator that were forbidden")
	gateways, err := on.Env.Audit().Writes(testenv.OperatorUser, audit.ByResource("gateway.networking.k8s.io", "gateways"))
	Expect(err).NotTo(HaveOccurred())
	Expect(gateways).To(BeEmpty(), "writes of the operator to Gateways")
})

func databaseSecret(namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"},
	}
}

const authorinoNamespace = "kuadrant-system"

// authorino is an instance as the installation of Kuadrant makes it, with TLS.
func authorino() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"listener":   map[string]any{"tls": map[string]any{"enabled": true, "certSecretRef": map[string]any{"name": "authorino-tls"}}},
		"oidcServer": map[string]any{"tls": map[string]any{"enabled": false}},
	}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.authorino.kuadrant.io", Version: "v1beta1", Kind: "Authorino"})
	o.SetNamespace(authorinoNamespace)
	o.SetName("authorino")
	return o
}

func ensureNamespace(ctx context.Context, name string) {
	GinkgoHelper()
	err := on.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}
