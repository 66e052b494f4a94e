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

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// specTimeout is how long a spec may take on a busy machine.
const specTimeout = 5 * time.Minute

// What all specs share.
var (
	on *world.World
	at *fixture
)

func TestQuotas(t *testing.T) { world.RunSpecs(t, "quotas at a tenant's gateway") }

var _ = world.Suite(world.Options{
	Simulator: true, SimulatorArgs: []string{"--inter-token-latency=" + perToken.String()},
}, func(ctx SpecContext, w *world.World) error {
	on, at = w, &fixture{tenant: w.Default}
	return at.prepare(ctx)
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
