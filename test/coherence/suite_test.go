// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/jackc/pgx/v5/pgxpool"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/service"
)

var (
	revocations = flag.Int("coherence.revocations", 40, "number of keys revoked in each situation")
	program     = flag.String("coherence.program", "", "program of maas-api; empty means build it")
)

func TestCoherence(t *testing.T) {
	ctrl.SetLogger(logr.Discard()) // Clients of the stage have nothing to tell.
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "replicas of maas-api under load")
}

// startTimeout is generous: with a cold cache it compiles the program.
const startTimeout = 20 * time.Minute

const (
	// bound is within what time a revocation must be in force everywhere.
	bound = 2 * time.Second
	// group owns the subscription that all keys are bound to.
	group        = "team"
	subscription = "common"
)

var (
	on *service.Stage
	// replicas are of one tenant and one database, with default settings.
	replicas []*replica
	// steady are keys that nobody ever revokes.
	steady = keyring.Ring{Name: "steady", Tenant: service.Tenant, Subscription: subscription, Groups: []string{group}}
	// database reads behind the back of the replicas, and ends their connections.
	database *pgxpool.Pool
)

const steadyKeys = 200

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = service.Start(ctx, service.Options{Binary: *program, Log: GinkgoWriter, Report: func(err error) {
		defer GinkgoRecover()
		Fail("the exchange is not what the OpenAPI document says: " + err.Error())
	}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(on.Stop()).To(Succeed()) })
	name := strings.TrimPrefix(must(url.Parse(on.Database)).Path, "/")
	database, err = pgxpool.New(context.Background(), on.Postgres.AdminURL(name))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(database.Close)

	model := builder.Key(service.ModelNamespace, "common")
	Expect(on.Publish(ctx, service.ReadyModel(model.Namespace, model.Name).Obj(),
		builder.AuthPolicy(service.Tenant, "common", model).Subjects([]string{group}, nil).Obj(),
		builder.Subscription(service.Tenant, subscription).Owners([]string{group}, nil).Limit(model, 1000, "1m").Phase(v1alpha1.PhaseActive).Obj(),
	)).To(Succeed())
	const count = 3
	replicas = make([]*replica, count)
	var starting errgroup.Group
	for i := range replicas {
		replicas[i] = newReplica(ctx, service.ReplicaOptions{Name: fmt.Sprintf("replica-%d", i)})
		starting.Go(func() error { return replicas[i].Start(ctx) })
	}
	Expect(starting.Wait()).To(Succeed())
	store(ctx, steady, steadyKeys)
}, NodeTimeout(startTimeout))

// Each spec begins with replicas that have got over the one before.
var _ = BeforeEach(func(ctx SpecContext) { awaitGood(ctx, replicas...) })

// What the replicas said helps to understand a failure.
var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() {
		for _, r := range replicas {
			AddReportEntry("log of "+r.LogFile(), ReportEntryVisibilityFailureOrVerbose, r.Excerpt())
		}
	}
})

// must returns a value that was to be had without an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// store writes the first keys of a ring.
func store(ctx context.Context, ring keyring.Ring, count int) {
	GinkgoHelper()
	Expect(ring.Store(ctx, on.Database, 0, count)).To(Succeed())
}

// ringOf is a ring of keys that no other spec uses.
func ringOf(name string) keyring.Ring {
	ring := steady
	ring.Name = name
	return ring
}

// replica is a replica with clients that are made once.
type replica struct {
	*service.Replica
	asker
	api service.Client
}

// newReplica returns a replica that does not run yet.
func newReplica(ctx context.Context, o service.ReplicaOptions) *replica {
	GinkgoHelper()
	r := must(on.Replica(ctx, o))
	return &replica{Replica: r, asker: newAsker(r.InternalURL()), api: r.Client()}
}

// up starts a replica that ends with the suite.
func up(ctx context.Context, o service.ReplicaOptions) *replica {
	GinkgoHelper()
	r := newReplica(ctx, o)
	Expect(r.Start(ctx)).To(Succeed())
	return r
}

// awaitGood waits until replicas are ready and accept good keys.
func awaitGood(ctx context.Context, replicas ...*replica) {
	GinkgoHelper()
	for _, r := range replicas {
		Eventually(func() bool { return r.Ready(ctx) }).Should(BeTrue(), "readiness of "+r.URL())
		Eventually(func() outcome { return r.ask(ctx, steady.Text(0)).outcome }).Should(Equal(accepted))
	}
}
