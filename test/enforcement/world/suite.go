// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 40 * time.Minute
	// Soon is how long a change may take to be felt on a busy machine.
	Soon = time.Minute
)

// RunSpecs runs the specs of a package, in the world of its [Suite].
func RunSpecs(t *testing.T, about string) {
	t.Helper()
	gomega.RegisterFailHandler(ginkgo.Fail)
	ctrl.SetLogger(ginkgo.GinkgoLogr)
	gomega.SetDefaultEventuallyTimeout(Soon)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
	ginkgo.RunSpecs(t, about)
}

// Suite starts a world before the specs of a package, has them prepare in it what they
// share, and stops it after them. Whoever prepares something may clean it up with
// ginkgo.DeferCleanup. Nothing of what carries out the policies may end by itself, and
// what the programs said helps to understand a failure.
func Suite(o Options, prepare func(ginkgo.SpecContext, *World) error) bool {
	var w *World // Nil: it did not start, which has been reported.
	o.Log = ginkgo.GinkgoWriter
	ginkgo.BeforeSuite(func(ctx ginkgo.SpecContext) {
		var err error
		w, err = Start(ctx, o)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		ginkgo.DeferCleanup(w.Stop)
		gomega.Expect(prepare(ctx, w)).To(gomega.Succeed(), w.Say)
	}, ginkgo.NodeTimeout(startTimeout), ginkgo.Offset(1))
	ginkgo.ReportAfterEach(func(spec ginkgo.SpecReport) {
		if spec.Failed() && w != nil {
			ginkgo.AddReportEntry("what the programs say", ginkgo.ReportEntryVisibilityFailureOrVerbose, w.Say())
		}
	})
	ginkgo.AfterEach(func() {
		if w != nil {
			gomega.Expect(w.Err()).To(gomega.Succeed())
		}
	})
	return true
}
