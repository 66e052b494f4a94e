// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"flag"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
)

var (
	seed     = flag.Uint64("crash.seed", 1, "seed of the burst and of the moments of the crashes")
	size     = flag.Int("crash.subscriptions", 300, "number of subscriptions that the burst creates")
	crashes  = flag.Int("crash.kills", 3, "number of crashes in the burst")
	operator = flag.String("crash.operator", "", "program of the operator; empty means build it")
)

func TestCrash(t *testing.T) {
	ctrl.SetLogger(logr.Discard()) // The stand-ins have nothing to tell.
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "the operator, killed in a burst")
}

// startTimeout is generous: with a cold cache it compiles the operator.
const startTimeout = 20 * time.Minute

// on is the stage; its operator is not started yet.
var on *stage.Stage

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	on, err = stage.Start(ctx, stage.Options{
		Binary: *operator, Log: GinkgoWriter, WithoutOperator: true,
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(10*time.Millisecond, 100*time.Millisecond)}},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
}, NodeTimeout(startTimeout))
