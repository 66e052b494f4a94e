// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package optional shows from outside what becomes of an installation with everything
// switched on, and of two tenants of it, where the cluster lacks kinds that the operator
// can do without: all of them, each one, or until they come. Pods only pretend to run
// here.
package optional

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestOptional(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(60 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "kinds that the operator can do without")
}

const (
	// startTimeout is generous: with a cold cache it compiles the operator.
	startTimeout = 20 * time.Minute
	// monitoring is the namespace of the platform's monitoring.
	monitoring = "monitoring"
	// other is a tenant beside the default one.
	other = "other"
	// authorinos are instances of Authorino. Kuadrant's installation makes one.
	authorinos = "authorinos.operator.authorino.kuadrant.io"
)

// on is the stage of the one story that is told here.
var on *stage.Stage

// The cluster has only what the operator needs, and everything is switched on.
var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = stage.Start(ctx, stage.Options{
		Tenants: true, Controllers: true, WithoutOperator: true, Log: GinkgoWriter,
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant},
		Args: []string{"--monitoring-namespace=" + monitoring},
		Env: []string{
			"RELATED_IMAGE_ODH_MAAS_API_IMAGE=registry.example.com/maas-api:tested",
			"RELATED_IMAGE_ODH_AI_GATEWAY_PAYLOAD_PROCESSING_IMAGE=registry.example.com/payload-processing:tested",
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	install(ctx, "authconfigs.authorino.kuadrant.io")
	for _, crd := range optional() {
		uninstall(ctx, crd)
	}
	create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: monitoring}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: v1alpha1.DatabaseSecretName},
			StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"},
		},
		builder.Gateway(builder.Key(stage.GatewayNamespace, other), other+".example.com"),
	)
	Expect(on.Operator.Start(ctx)).To(Succeed())
	create(ctx, &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: other}})
	Eventually(func() error {
		config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
		config.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindConfig))
		return on.Admin.Patch(ctx, config, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"usageLogging":true}}`)))
	}).Should(Succeed(), "the operator makes the Config")
	for _, namespace := range tenants() {
		key := builder.Key(namespace, v1alpha1.DefaultTenantConfigName)
		Eventually(func() error { return on.Admin.Get(ctx, key, &v1alpha1.MaasTenantConfig{}) }).Should(Succeed(), "%s", key)
	}
}, NodeTimeout(startTimeout))

// The operator's rights suffice, also for kinds that are not there.
var _ = AfterSuite(func() {
	if on == nil {
		return // It did not start, which has been reported.
	}
	forbidden, err := on.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden(), audit.Not(audit.OfTerminatingKind()))
	Expect(err).NotTo(HaveOccurred())
	Expect(forbidden).To(BeEmpty(), "requests of the operator that were forbidden")
})

// finishJobs plays the Pods of Jobs that revoke keys: each of them succeeds.
func finishJobs(ctx context.Context) error {
	var pods corev1.PodList
	err := on.Admin.List(ctx, &pods, client.MatchingLabels{"app": "maas-api-revocation"})
	for i := range pods.Items {
		pod := &pods.Items[i]
		if err != nil || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		err = on.Admin.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	return client.IgnoreNotFound(err)
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(on.Admin.Create(ctx, o)).To(Succeed(), "create %T %s", o, client.ObjectKeyFromObject(o))
	}
}

// definition is a CRD with nothing but its name.
func definition(name string) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(name)
	return crd
}

// uninstall deletes a CRD, with all its objects, if there is one.
func uninstall(ctx context.Context, name string) {
	GinkgoHelper()
	crd := definition(name)
	Expect(client.IgnoreNotFound(on.Admin.Delete(ctx, crd))).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(on.Admin.Get(ctx, client.ObjectKeyFromObject(crd), crd)) }).Should(BeTrue(), name)
}

// install installs one CRD, as its product has it.
func install(ctx context.Context, name string) {
	GinkgoHelper()
	content, err := json.Marshal(schemaOf(name))
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(on.Env.Dir(), name+".yaml")
	Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	Expect(on.Env.InstallCRDFiles(ctx, file)).To(Succeed())
	if name == authorinos {
		create(ctx, authorino())
	}
}

// authorino is an instance as the installation of Kuadrant makes it, with TLS.
func authorino() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"listener":   map[string]any{"tls": map[string]any{"enabled": true, "certSecretRef": map[string]any{"name": "authorino-tls"}}},
		"oidcServer": map[string]any{"tls": map[string]any{"enabled": false}},
	}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.authorino.kuadrant.io", Version: "v1beta1", Kind: "Authorino"})
	o.SetNamespace(monitoring)
	o.SetName("authorino")
	return o
}

// schemaOf finds a CRD among those of all products.
func schemaOf(name string) *unstructured.Unstructured {
	GinkgoHelper()
	for _, set := range testenv.CRDSets() {
		crds, err := testenv.LoadCRDs(set)
		Expect(err).NotTo(HaveOccurred())
		if i := slices.IndexFunc(crds, func(crd *unstructured.Unstructured) bool { return crd.GetName() == name }); i >= 0 {
			return crds[i]
		}
	}
	Fail("no CRD set has " + name)
	return nil
}
