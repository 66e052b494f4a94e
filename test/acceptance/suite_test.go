// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acceptance shows the product's documented behaviour from outside: the
// operator's own program runs on a real API server, and each spec applies
// objects as a user would and judges what the cluster then holds.
package acceptance

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

func TestAcceptance(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "the operator, from outside")
}

// quiet is how long something must not happen: longer than the longest pause
// between a change and what follows from it.
const quiet = 3 * time.Second

// startTimeout is generous: with a cold cache it compiles the operator.
const startTimeout = 20 * time.Minute

// on is the stage that all specs share. Each spec has a namespace of its own.
var on *stage.Stage

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = stage.Start(ctx, stage.Options{
		Log:      GinkgoWriter,
		Stored:   storedByAnEarlierRelease(),
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 50*time.Millisecond)}},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
}, NodeTimeout(startTimeout))
