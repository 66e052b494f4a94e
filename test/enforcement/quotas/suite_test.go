// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quotas shows what counts against which limit, and how soon a change is felt,
// with the real engines of the gateway and a model simulator whose replies cost what
// their text says. Its specs judge by what a caller gets and by what the limiter has
// counted; they must not know what a policy says.
package quotas

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

const (
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 40 * time.Minute
	// specTimeout is how long a spec may take on a busy machine.
	specTimeout = 5 * time.Minute
	// soon is how long a change may take to be felt on a busy machine.
	soon = time.Minute
)

// What all specs share.
var (
	on *world.World
	at *fixture
)

func TestQuotas(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(soon)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "quotas at a tenant's gateway")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = world.Start(ctx, world.Options{
		Simulator: true, SimulatorArgs: []string{"--inter-token-latency=" + perToken.String()}, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	at = &fixture{tenant: on.Default}
	Expect(at.prepare(ctx)).To(Succeed(), on.Say)
}, NodeTimeout(startTimeout))

// What the programs said helps to understand a failure.
var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() && on != nil {
		AddReportEntry("what the programs say", ReportEntryVisibilityFailureOrVerbose, on.Say())
	}
})

// Nothing of what carries out the policies may end by itself.
var _ = AfterEach(func() {
	if on != nil { // Else it did not start, which has been reported.
		Expect(on.Err()).To(Succeed())
	}
})

// The order matters for how long it takes: what is remembered for a minute by default
// is looked at last but for what breaks the gateway.
var _ = Describe("A tenant's gateway", func() {
	Describe("counting tokens", counting)
	Describe("telling what is free", exempting)
	Describe("passing streams", streaming)
	Describe("serving many at once", crowding)
	Describe("beside limits of an earlier release", inheriting)
	Describe("while subscriptions change", changing)
	Describe("remembering", remembering)
	Describe("when something is missing", missing)
})
