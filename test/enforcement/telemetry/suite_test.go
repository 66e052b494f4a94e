// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry looks at the labels of what gateways report to the limiter, for each
// kind of caller: the TelemetryPolicies that the operator writes are carried out by
// Kuadrant's own extension, its configuration by the stand-in for the gateway, of what
// the real Authorino says of the caller.
package telemetry

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
)

const specTimeout = 5 * time.Minute

var (
	on *world.World
	at *fixture
)

func TestTelemetry(t *testing.T) {
	if err := engines.BuildTelemetry(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	world.RunSpecs(t, "labels of usage metrics")
}

var _ = world.Suite(world.Options{KuadrantEnv: engines.Telemetry()}, func(ctx SpecContext, w *world.World) error {
	on, at = w, &fixture{}
	return at.prepare(ctx)
})
