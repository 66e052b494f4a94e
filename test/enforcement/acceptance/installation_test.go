// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// infra is where what runs for tenants is.
const infra = "odh-ai-gateway-infra"

// profile is a kind of platform, which the operator tells by the APIs that are served.
type profile struct {
	name string
	// crds are those beside what an installation has everywhere.
	crds []testenv.CRDSet
}

func profiles() []profile {
	return []profile{
		{name: "kubernetes", crds: []testenv.CRDSet{testenv.CertManager}},
		{name: "openshift", crds: []testenv.CRDSet{testenv.OpenShift}},
	}
}

// installation is a control plane with the operator, the real Kuadrant and the real
// Authorino.
type installation struct {
	*stage.Stage
	kuadrant  *engines.Kuadrant
	authorino *engines.Authorino
}

// install starts everything, and ends it with the specs around.
func (p profile) install(ctx context.Context) *installation {
	GinkgoHelper()
	s, err := stage.Start(ctx, stage.Options{
		Binary: binary, Tenants: true, Controllers: true, WithoutOperator: true, WithoutKuadrant: true, Log: GinkgoWriter,
		CRDs: append(append(engines.KuadrantCRDs(), testenv.MaaS, testenv.KServe), p.crds...),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.Stop)
	on := &installation{Stage: s}
	on.create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"},
	})
	on.startEngines(ctx)
	Expect(s.Operator.Start(ctx)).To(Succeed())
	return on
}

// startEngines starts the issuer of the tenants' tokens, Authorino, which finds it
// through a proxy for its name, and Kuadrant.
func (on *installation) startEngines(ctx context.Context) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	issuer, err := engines.StartOIDC(ctx, engines.OIDCOptions{
		Issuer: issuerURL, Dir: filepath.Join(dir, "issuer"), Out: GinkgoWriter,
		Users: []engines.OIDCUser{{Name: "alice", Subject: "alice"}}, Clients: []engines.OIDCClient{{ID: clientID}},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(issuer.Stop)
	names := must(engines.NewNameProxy(ctx))
	DeferCleanup(names.Stop)
	names.Set(strings.TrimPrefix(issuerHost, "https://")+":443", issuer.Address)

	on.authorino, err = engines.StartAuthorino(ctx, engines.AuthorinoOptions{
		Kubeconfig: on.Env.Kubeconfig(), Proxy: names.URL(), CAFile: issuer.CAFile, Dir: filepath.Join(dir, "authorino"), Out: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.authorino.Stop)
	on.kuadrant, err = engines.StartKuadrant(ctx, engines.KuadrantOptions{
		Kubeconfig: on.Env.Kubeconfig(), Dir: filepath.Join(dir, "kuadrant"), Out: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.kuadrant.Stop)
}

// alive fails when an engine has ended.
func (on *installation) alive() {
	GinkgoHelper()
	Expect(on.kuadrant.Err()).NotTo(HaveOccurred())
	Expect(on.authorino.Err()).NotTo(HaveOccurred())
}

// say adds the last words of the engines to the report of a spec that failed.
func (on *installation) say() {
	if !CurrentSpecReport().Failed() || on == nil {
		return
	}
	for name, file := range map[string]string{
		"Kuadrant": on.kuadrant.LogFile(), "Authorino": on.authorino.LogFile(), "the operator": on.Operator.LogFile(),
	} {
		const most = 8000
		text, _ := os.ReadFile(file) // It may be gone.
		AddReportEntry(name, string(text[max(0, len(text)-most):]), ReportEntryVisibilityFailureOrVerbose)
	}
}

func (on *installation) create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(on.Admin.Create(ctx, o)).To(Succeed(), "create %T %s", o, client.ObjectKeyFromObject(o))
	}
}

// namespace makes a namespace unless it is there.
func (on *installation) namespace(ctx context.Context, name string) {
	GinkgoHelper()
	err := on.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}
