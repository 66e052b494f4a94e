// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy shows that tenants are kept apart, and that nothing of a deleted
// one lives on, with everything real that can be: the operator's own program and the
// controllers of Kubernetes, maas-api as the operator's Deployments and Jobs start it,
// one PostgreSQL for all tenants, and a gateway for each tenant. What the gateway's
// stand-in does not evaluate, the generated policies, is decided by package enforced,
// whose questions go to the maas-api that the policy names.
package tenancy

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/internal/program"
	"github.com/opendatahub-io/maas-operator/test/postgres"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

const (
	// infra is where what runs for tenants is.
	infra = "odh-ai-gateway-infra"
	// image is that of maas-api, as an installation would name it.
	image = "registry.example.com/maas-api:tested"
	// eventually is how long something may take on a busy machine.
	eventually = 2 * time.Minute
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 20 * time.Minute
	// quiet is how long something must not happen that would.
	quiet = 2 * time.Second
)

// What all specs share.
var (
	on *stage.Stage
	// server has the database that all tenants share, and rows looks at it as the
	// server's administrator.
	server   *postgres.Server
	database string
	rows     *pgxpool.Pool
)

func TestTenancy(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(eventually)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(quiet)
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "tenants and what keeps them apart")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	dir := GinkgoT().TempDir()
	binaries := startServers(ctx, dir)
	var err error
	on, err = stage.Start(ctx, stage.Options{
		Binary: binaries["maas-controller"], Tenants: true, Controllers: true, WithoutOperator: true,
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.KServe, testenv.OpenShift},
		Env:  []string{"RELATED_IMAGE_ODH_MAAS_API_IMAGE=" + image},
		Workload: &workload.Options{
			Images:       map[string]workload.Program{image: maasAPI(binaries["maas-api"])},
			Certificates: []workload.CertificateMaker{workload.ServiceCA}, Dir: filepath.Join(dir, "workload"), Log: GinkgoWriter,
		},
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 50*time.Millisecond)}},
		Log:      GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: v1alpha1.DatabaseSecretName},
		StringData: map[string]string{v1alpha1.DatabaseSecretKey: database},
	})
	startGateways(ctx, dir)
	Expect(on.Operator.Start(ctx)).To(Succeed())
	theDefault.await(ctx)
}, NodeTimeout(startTimeout))

// startServers starts the database and builds the programs, at the same time.
func startServers(ctx context.Context, dir string) map[string]string {
	GinkgoHelper()
	programs := []string{"maas-controller", "maas-api"}
	paths := make([]string, len(programs))
	var starting errgroup.Group
	for i, name := range programs {
		starting.Go(func() (err error) {
			paths[i], err = program.Build(ctx, dir, name)
			return err
		})
	}
	starting.Go(func() error { return testenv.Build(ctx, "gateway", GinkgoWriter) })
	starting.Go(func() (err error) {
		if server, err = postgres.Start(ctx, postgres.Options{Out: GinkgoWriter}); err != nil {
			return err
		}
		if err := server.CreateDatabase(ctx, "maas"); err != nil {
			return err
		}
		database = server.URL("maas")
		rows, err = pgxpool.New(context.WithoutCancel(ctx), server.AdminURL("maas"))
		return err
	})
	err := starting.Wait()
	if server != nil {
		DeferCleanup(server.Stop)
	}
	if rows != nil {
		DeferCleanup(rows.Close)
	}
	Expect(err).NotTo(HaveOccurred())
	return map[string]string{programs[0]: paths[0], programs[1]: paths[1]}
}

// The operator's rights suffice: after all specs, the API server refused it nothing but
// what nobody may: to record events in a namespace that is being deleted.
var _ = AfterSuite(func() {
	if on == nil {
		return // It did not start, which has been reported.
	}
	forbidden, err := on.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Forbidden(), func(e *audit.Event) bool {
		return !audit.IsEvent()(e) || e.Namespace != leaving.namespace()
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(forbidden).To(BeEmpty(), "requests of the operator that were forbidden")
})

// What the programs said helps to understand a failure.
var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() && on != nil {
		AddReportEntry("what runs in "+infra, ReportEntryVisibilityFailureOrVerbose, programsSay())
	}
})

// must returns a value that was to be had without an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

func create(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(on.Admin.Create(ctx, o)).To(Succeed(), "%T %s", o, client.ObjectKeyFromObject(o))
	}
}

// get reads an object that must be there.
func get[T client.Object](ctx context.Context, namespace, name string, into T) T {
	GinkgoHelper()
	Expect(on.Admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)).To(Succeed(), "%T %s/%s", into, namespace, name)
	return into
}

// gone tells whether there is no such object.
func gone(ctx context.Context, o client.Object) func() (bool, error) {
	return func() (bool, error) {
		err := on.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)
		return err != nil, client.IgnoreNotFound(err)
	}
}

// change changes an object as it is now.
func change[T client.Object](ctx context.Context, o T, how func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		how(o)
		return on.Admin.Update(ctx, o)
	}).Should(Succeed(), "%T %s", o, client.ObjectKeyFromObject(o))
}
