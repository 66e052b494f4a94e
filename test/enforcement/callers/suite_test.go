// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package callers shows what becomes of each kind of caller at the gateways of two
// tenants: the cases of package cases, and what happens while maas-api does not answer
// the gateway as it should.
package callers

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

const (
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 40 * time.Minute
	// specTimeout is how long a spec may take on a busy machine.
	specTimeout = 5 * time.Minute
)

// What all specs share.
var (
	on      *world.World
	fixture *cases.Fixture
)

func TestCallers(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "callers of tenants' gateways")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = world.Start(ctx, world.Options{Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	fixture, err = cases.Prepare(ctx, on)
	Expect(err).NotTo(HaveOccurred(), on.Say)
	DeferCleanup(fixture.Release)
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
