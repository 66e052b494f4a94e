// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// targetTimeout is for all mutants of a policy on a busy machine.
const targetTimeout = 60 * time.Minute

// What all specs share. The operator does not run any more: it would take every change
// back.
var (
	on      *world.World
	fixture *cases.Fixture
	results report
)

func TestMutation(t *testing.T) {
	world.RunSpecs(t, "generated policies without one of their rules")
}

var _ = world.Suite(world.Options{Args: []string{cases.ByHand}}, func(ctx SpecContext, w *world.World) (err error) {
	on = w
	if fixture, err = cases.Prepare(ctx, on); err != nil {
		return err
	}
	DeferCleanup(fixture.Release)
	return on.Stage.Operator.Stop()
})

var _ = ReportAfterSuite("what notices that a rule is missing", func(Report) {
	GinkgoWriter.Println(results.table())
	AddReportEntry("what notices that a rule is missing", ReportEntryVisibilityAlways, results.table())
})
