// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package latency measures what the callbacks of generated policies add to Authorino's
// answers: at a policy that asks nobody, at a model's policy whose questions Authorino
// remembers the answers to, and at the same when it remembers none. It asks Authorino as
// a gateway does, past the gateway. It asserts who was asked how often, and no time.
package latency

import (
	"flag"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

var (
	measure = flag.Duration("latency.measure", time.Second, "how long each measurement of a round takes, less than Authorino remembers answers (60s)")
	rounds  = flag.Int("latency.rounds", 2, "how often everything is measured, in turn")
)

var fixture *prepared

func TestLatency(t *testing.T) { world.RunSpecs(t, "what callbacks add to Authorino's answers") }

var _ = world.Suite(world.Options{}, func(ctx SpecContext, w *world.World) (err error) {
	fixture, err = prepare(ctx, w)
	return err
})
