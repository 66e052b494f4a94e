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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/internal/installation"
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
	infra = installation.Namespace
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
	parts, err := installation.Prepare(ctx, installation.Options{Dir: dir, Targets: []string{"gateway"}, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(parts.Stop)
	server, database, rows = parts.Server, parts.Database(), parts.Rows
	on, err = stage.Start(ctx, stage.Options{
		Binary: parts.Programs[installation.Operator], Tenants: true, Controllers: true, WithoutOperator: true,
		CRDs: []testenv.CRDSet{testenv.MaaS, testenv.GatewayAPI, testenv.Kuadrant, testenv.Authorino, testenv.KServe, testenv.OpenShift},
		Env:  []string{installation.ImageEnv},
		Workload: &workload.Options{
			Images:       map[string]workload.Program{installation.Image: installation.Program(parts.Programs[installation.MaaSAPI], gatewayHere)},
			Certificates: []workload.CertificateMaker{workload.ServiceCA}, Dir: filepath.Join(dir, "workload"), Log: GinkgoWriter,
		},
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 50*time.Millisecond)}},
		Log:      GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	create(ctx, installation.DatabaseSecret(database))
	startGateways(ctx, dir)
	Expect(on.Operator.Start(ctx)).To(Succeed())
	theDefault.await(ctx)
}, NodeTimeout(startTimeout))

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
