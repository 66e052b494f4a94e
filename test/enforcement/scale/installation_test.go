// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// installation is a control plane with the operator, the default tenant, the real
// Kuadrant and the real Authorino.
type installation struct {
	*stage.Stage
	kuadrant  *engines.Kuadrant
	authorino *engines.Authorino
	judged    *judgements

	// read is how much of Kuadrant's log was read, and tooLarge whether that was in it.
	read     int64
	tooLarge bool
}

// install starts everything, and ends it with the specs around.
func install(ctx context.Context) *installation {
	GinkgoHelper()
	s, err := stage.Start(ctx, stage.Options{
		Binary: binary, Tenants: true, Controllers: true, WithoutOperator: true, WithoutKuadrant: true, Log: GinkgoWriter,
		CRDs: append(engines.KuadrantCRDs(), testenv.MaaS, testenv.KServe, testenv.CertManager),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.Stop)
	on := &installation{Stage: s}
	on.create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: "postgresql://maas:secret@postgres:5432/maas"},
	})
	dir := GinkgoT().TempDir()
	on.authorino, err = engines.StartAuthorino(ctx, engines.AuthorinoOptions{
		Kubeconfig: on.Env.Kubeconfig(), Dir: filepath.Join(dir, "authorino"), Out: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.authorino.Stop)
	on.kuadrant, err = engines.StartKuadrant(ctx, engines.KuadrantOptions{
		Kubeconfig: on.Env.Kubeconfig(), Dir: filepath.Join(dir, "kuadrant"), Out: GinkgoWriter,
		// As docs/operations/install.md asks: else the tenant is warned of that, too.
		Env: append(engines.Patient(), "RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny"),
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.kuadrant.Stop)
	on.judged = watchJudgements(ctx, on.Env.AdminConfig())
	Expect(s.Operator.Start(ctx)).To(Succeed())
	Eventually(on.ready(ctx)).Should(Equal("True Reconciled"), "the default tenant")
	return on
}

// ready is "<status> <reason>" of the default tenant's condition Ready.
func (on *installation) ready(ctx context.Context) func() (string, error) {
	return func() (string, error) {
		config := &v1alpha1.MaasTenantConfig{}
		err := on.Admin.Get(ctx, client.ObjectKey{Namespace: stage.TenantNamespace, Name: v1alpha1.DefaultTenantConfigName}, config)
		if err != nil {
			return "", client.IgnoreNotFound(err)
		}
		c := meta.FindStatusCondition(config.Status.Conditions, string(v1alpha1.ConditionReady))
		if c == nil {
			return "not judged yet", nil
		}
		return string(c.Status) + " " + c.Reason, nil
	}
}

// alive fails when an engine has ended.
func (on *installation) alive() {
	GinkgoHelper()
	Expect(on.kuadrant.Err()).NotTo(HaveOccurred())
	Expect(on.authorino.Err()).NotTo(HaveOccurred())
}

// refused tells whether Kuadrant has said that an object was too large. It says so with
// the whole object, again and again: what was read once is not read again.
func (on *installation) refused() bool {
	GinkgoHelper()
	log := must(os.Open(on.kuadrant.LogFile()))
	defer func() { Expect(log.Close()).To(Succeed()) }()
	must(log.Seek(on.read, io.SeekStart))
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return on.tooLarge // The rest of the line is not written yet.
		}
		on.read += int64(len(line))
		for _, by := range []string{"etcdserver: request is too large", "Request entity too large"} {
			on.tooLarge = on.tooLarge || strings.Contains(line, by)
		}
	}
}

// warned tells whether the tenant warns of the size of its Gateway's configuration.
func (on *installation) warned(ctx context.Context) func() (bool, error) {
	return func() (bool, error) {
		config := &v1alpha1.MaasTenantConfig{}
		if err := on.Admin.Get(ctx, client.ObjectKey{Namespace: stage.TenantNamespace, Name: v1alpha1.DefaultTenantConfigName}, config); err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(config.Status.Conditions, string(v1alpha1.ConditionDegraded))
		return c != nil && strings.Contains(c.Message, "EnvoyFilter "+stage.GatewayNamespace+"/kuadrant-"+stage.GatewayName), nil
	}
}

// memoryOf is what an engine holds, in MiB.
func memoryOf(ctx context.Context, metrics string) int {
	GinkgoHelper()
	return int(must(scrape.Get(ctx, metrics)).Sum("process_resident_memory_bytes")) >> 20
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
