// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs tells a suite of Ginkgo what befalls the programs of its stage: it
// aborts the suite when one ends that should not, and shows and keeps the logs of a
// suite that fails. Whoever imports it gets its reports. It must not know what the
// specs are about, and does nothing in other tests.
package specs

import (
	"context"
	"fmt"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/stage/logs"
)

// Watch aborts the suite, whose context this is, as soon as a channel is closed: the
// present spec fails with the reason, whatever it waits for, and no other one is run.
// The suite calls what is returned when it no longer minds.
func Watch(ctx context.Context, ended <-chan struct{}, reason func() error) (unwatch func()) {
	if !isSpec(ctx) {
		return func() {}
	}
	gomega.EnforceDefaultTimeoutsWhenUsingContexts() // Or what waits with a context would wait for ever.
	waiting, stopWaiting := context.WithCancelCause(context.Background())
	usual, over := gomega.Default, make(chan struct{})
	gomega.Default = impatient{Gomega: usual, waiting: waiting}
	go func() {
		select {
		case <-over:
		case <-ended:
			abort(reason())
			stopWaiting(reason())
		}
	}()
	return func() {
		close(over)
		gomega.Default = usual
	}
}

// isSpec tells whether a context comes from a node of a suite.
func isSpec(ctx context.Context) bool {
	_, is := ctx.Value("GINKGO_SPEC_CONTEXT").(ginkgo.SpecContext)
	return is
}

func abort(reason error) {
	defer ginkgo.GinkgoRecover()
	ginkgo.AbortSuite(reason.Error())
}

// impatient is Gomega, except that it waits for nothing any more once its context is
// done.
type impatient struct {
	gomega.Gomega
	waiting context.Context
}

// Inner is how Gomega knows that this is a layer on top of it.
func (i impatient) Inner() gomega.Gomega { return i.Gomega }

// Eventually implements gomega.Gomega, as the following methods do.
func (i impatient) Eventually(actualOrCtx any, args ...any) gomega.AsyncAssertion {
	return i.EventuallyWithOffset(0, actualOrCtx, args...)
}

// EventuallyWithOffset implements gomega.Gomega.
func (i impatient) EventuallyWithOffset(offset int, actualOrCtx any, args ...any) gomega.AsyncAssertion {
	return i.bounded(i.Gomega.EventuallyWithOffset, offset, actualOrCtx, args)
}

// Consistently implements gomega.Gomega.
func (i impatient) Consistently(actualOrCtx any, args ...any) gomega.AsyncAssertion {
	return i.ConsistentlyWithOffset(0, actualOrCtx, args...)
}

// ConsistentlyWithOffset implements gomega.Gomega.
func (i impatient) ConsistentlyWithOffset(offset int, actualOrCtx any, args ...any) gomega.AsyncAssertion {
	return i.bounded(i.Gomega.ConsistentlyWithOffset, offset, actualOrCtx, args)
}

// bounded makes an assertion that ends with the context, and with the one that is
// given before the actual value, if there is one.
func (i impatient) bounded(assertion func(int, any, ...any) gomega.AsyncAssertion, offset int, actualOrCtx any, args []any) gomega.AsyncAssertion {
	given, is := actualOrCtx.(context.Context)
	if !is || len(args) == 0 {
		return assertion(offset, actualOrCtx, args...).WithContext(i.waiting)
	}
	both, cancel := context.WithCancelCause(given)
	forget := context.AfterFunc(i.waiting, func() { cancel(context.Cause(i.waiting)) })
	context.AfterFunc(given, func() { forget() })
	return assertion(offset, both, args...)
}

// shown is the number of lines from the end of a log that a failure shows.
const shown = 30

// A failed spec shows what the operator said.
var _ = ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
	if log := logs.Newest("operator"); log != "" && report.Failed() {
		ginkgo.AddReportEntry(log+" says", ginkgo.ReportEntryVisibilityFailureOrVerbose, process.ExcerptOf(log, shown))
	}
})

// A suite that passed leaves no logs, and another one says where they are.
var _ = ginkgo.ReportAfterSuite("the logs of the stage", func(report ginkgo.Report) {
	log := logs.Newest("operator")
	switch {
	case log == "":
	case report.SuiteSucceeded:
		if err := logs.Remove(); err != nil {
			ginkgo.Fail(err.Error())
		}
	default:
		fmt.Fprintf(os.Stdout, "\nThe logs are kept in %s until the next run. The operator's says:\n%s\n", logs.Dir(), process.ExcerptOf(log, shown))
	}
})
