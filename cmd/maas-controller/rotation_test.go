// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// pair is a certificate with its key.
func pair(t *testing.T) (cert, key []byte) {
	t.Helper()
	now := time.Now()
	maker := &rotator.CertRotator{CAName: "ca", CAOrganization: "test", DNSName: "localhost", ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	authority, err := maker.CreateCACert(now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if cert, key, err = maker.CreateCertPEM(authority, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// mount does what a kubelet does with a mounted Secret.
func mount(g Gomega, secret *corev1.Secret, dir string) {
	for name, content := range secret.Data {
		g.Expect(os.WriteFile(filepath.Join(dir, name), content, 0o600)).To(Succeed())
	}
}

var _ = Describe("The certificate of the webhooks", Ordered, func() {
	var (
		admin  client.Client
		secret *corev1.Secret
		config Config
	)
	hook := func() *admissionregistrationv1.ValidatingWebhookConfiguration {
		path, none := "/", admissionregistrationv1.SideEffectClassNone
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: webhookConfiguration},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "a.kb.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none,
				ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
					Namespace: testenv.OperatorNamespace, Name: webhookService, Path: &path,
				}},
			}},
		}
	}
	// trusted tells whether the certificate in the Secret is for the Service, by the
	// authority that the API server was told.
	trusted := func(ctx context.Context) func(Gomega) string {
		return func(g Gomega) string {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			stored := hook()
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
			parsed, err := tls.X509KeyPair(secret.Data[certFile], secret.Data[keyFile])
			g.Expect(err).NotTo(HaveOccurred())
			roots := x509.NewCertPool()
			g.Expect(roots.AppendCertsFromPEM(stored.Webhooks[0].ClientConfig.CABundle)).To(BeTrue())
			leaf, err := x509.ParseCertificate(parsed.Certificate[0])
			g.Expect(err).NotTo(HaveOccurred())
			_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: webhookService + "." + testenv.OperatorNamespace + ".svc"})
			g.Expect(err).NotTo(HaveOccurred())
			mount(g, secret, config.WebhookCertDir)
			return leaf.SerialNumber.String() + string(secret.Data[certFile])
		}
	}

	BeforeAll(func(ctx SpecContext) {
		env, err := testenv.Start(ctx, testenv.Options{Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(env.Stop)
		scheme, err := newScheme()
		Expect(err).NotTo(HaveOccurred())
		admin, err = client.New(env.AdminConfig(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: webhookSecret}}
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testenv.OperatorNamespace}}))).To(Succeed())
		Expect(admin.Create(ctx, secret)).To(Succeed())
		Expect(admin.Create(ctx, hook())).To(Succeed())
		config = DefaultConfig()
		config.WebhookCertDir, config.WebhookCertSource = GinkgoT().TempDir(), certsOwn
		mgr, err := ctrl.NewManager(env.AdminConfig(), ctrl.Options{Scheme: scheme, Logger: GinkgoLogr, Metrics: metricsserver.Options{BindAddress: "0"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(renewCertificates(mgr, config)).To(Succeed())
		life, end := context.WithCancel(context.WithoutCancel(ctx))
		ended := make(chan error, 1)
		go func() { ended <- mgr.Start(life) }()
		DeferCleanup(func() {
			end()
			Eventually(ended).Should(Receive())
		})
	}, NodeTimeout(20*time.Minute))

	var first string

	It("is made, and its authority told to the API server", func(ctx SpecContext) {
		Eventually(trusted(ctx)).Should(Not(BeEmpty()))
		Expect(loadCertificate(config.WebhookCertDir)).To(Succeed())
		first = trusted(ctx)(Default)
	})

	It("is made again when it is lost, with the authority", func(ctx SpecContext) {
		secret.Data = nil
		Expect(admin.Update(ctx, secret)).To(Succeed())
		Eventually(trusted(ctx)).ShouldNot(Equal(first))
	})

	It("tells its authority to a configuration that was installed again", func(ctx SpecContext) {
		Expect(admin.Delete(ctx, hook())).To(Succeed())
		Expect(admin.Create(ctx, hook())).To(Succeed())
		Eventually(trusted(ctx)).ShouldNot(BeEmpty())
	})
})
