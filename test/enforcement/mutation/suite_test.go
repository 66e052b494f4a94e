// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

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
	// targetTimeout is for all mutants of a policy on a busy machine.
	targetTimeout = 60 * time.Minute
)

// What all specs share. The operator does not run any more: it would take every change
// back.
var (
	on      *world.World
	fixture *cases.Fixture
	results report
)

func TestMutation(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "generated policies without one of their rules")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = world.Start(ctx, world.Options{Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	fixture, err = cases.Prepare(ctx, on)
	Expect(err).NotTo(HaveOccurred(), on.Say)
	DeferCleanup(fixture.Release)
	Expect(on.Stage.Operator.Stop()).To(Succeed())
}, NodeTimeout(startTimeout))

// What the programs said helps to understand a failure.
var _ = ReportAfterEach(func(spec SpecReport) {
	if spec.Failed() && on != nil {
		AddReportEntry("what the programs say", ReportEntryVisibilityFailureOrVerbose, on.Say())
	}
})

var _ = ReportAfterSuite("what notices that a rule is missing", func(Report) {
	GinkgoWriter.Println(results.table())
	AddReportEntry("what notices that a rule is missing", ReportEntryVisibilityAlways, results.table())
})
