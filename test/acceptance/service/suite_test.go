// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service_test shows the documented behaviour of maas-api from outside:
// the program runs under its own ServiceAccount on a real API server and a real
// PostgreSQL, and each spec asks it as the gateway or a job would. No operator
// runs: the specs write the status of custom resources as it would.
package service_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

func TestService(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	format.UseStringerRepresentation, format.MaxLength = true, 0
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "maas-api, from outside")
}

// startTimeout is generous: with a cold cache it compiles the program.
const startTimeout = 20 * time.Minute

// What all specs share. Each has users of its own, and objects where it changes
// any.
var (
	on *service.Stage
	// api is the replica that most specs ask; peer is another one of the same
	// tenant with other limits; stranger serves another tenant from the same
	// database.
	api, peer, stranger *service.Replica
	// database reads and writes behind the back of the replicas.
	database *pgxpool.Pool
	// models of the subscriptions that everybody has.
	commonModel = builder.Key(service.ModelNamespace, "common")
)

// Names of the subscriptions that the members of a group own, for specs that are
// about keys.
const (
	commonGroup  = "commoners"
	commonName   = "common"
	specialGroup = "specials"
	specialName  = "special"

	strangerTenant = "ai-stranger"
	peerKeys       = 4
	peerDays       = 30
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = service.Start(ctx, service.Options{
		Log: GinkgoWriter, CRDs: []testenv.CRDSet{testenv.Kuadrant},
		Report: func(err error) {
			defer GinkgoRecover()
			Fail("the exchange is not what the OpenAPI document says: " + err.Error())
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(on.Stop()).To(Succeed()) })
	database, err = pgxpool.New(context.Background(), on.Database)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(database.Close)

	publish(ctx,
		service.ReadyModel(commonModel.Namespace, commonModel.Name).Obj(),
		builder.AuthPolicy(service.Tenant, commonName, commonModel).Subjects([]string{commonGroup, specialGroup}, nil).Obj(),
		builder.Subscription(service.Tenant, commonName).Owners([]string{commonGroup}, nil).
			Limit(commonModel, 1000, "1m").Phase(v1alpha1.PhaseActive).Obj(),
		builder.Subscription(service.Tenant, specialName).Owners([]string{specialGroup}, nil).Priority(7).
			Limit(commonModel, 5000, "1m").Phase(v1alpha1.PhaseActive).Obj(),
	)
	api = must(on.Replica(ctx, service.ReplicaOptions{Name: "api", Env: []string{
		"LAST_USED_INTERVAL=100ms", "LAST_USED_DEBOUNCE_SECS=0", "LOG_LEVEL=debug",
	}}))
	gateway = must(on.Gateway(ctx, service.GatewayOptions{
		Replica: api, Identities: identities(), Hostnames: []string{legacyHostname},
		Backends: map[string]string{service.ModelNamespace + "/" + modelService: startServers()},
	}))
	api.Behind(gateway)
	Expect(on.Route(ctx)).To(Succeed())
	peer = must(on.Replica(ctx, service.ReplicaOptions{Name: "peer", Args: []string{
		"--api-key-max-expiration-days=30", "--api-key-max-per-user=4", "--log-level=debug",
	}}))
	stranger = must(on.Replica(ctx, service.ReplicaOptions{Name: "stranger", Args: []string{"--tenant-name=" + strangerTenant}}))
	replicas := []*service.Replica{api, peer, stranger}
	atOnce(len(replicas), func(i int) { Expect(replicas[i].Start(ctx)).To(Succeed()) })
}, NodeTimeout(startTimeout))

// What the replicas said helps to understand a failure.
var _ = ReportAfterEach(func(report SpecReport) {
	if !report.Failed() || on == nil {
		return
	}
	for _, r := range []*service.Replica{api, peer, stranger} {
		if r != nil {
			AddReportEntry("log of "+r.LogFile(), ReportEntryVisibilityFailureOrVerbose, r.Excerpt())
		}
	}
})
