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

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// specTimeout is how long a spec may take on a busy machine.
const specTimeout = 5 * time.Minute

// What all specs share.
var (
	on      *world.World
	fixture *cases.Fixture
)

func TestCallers(t *testing.T) { world.RunSpecs(t, "callers of tenants' gateways") }

var _ = world.Suite(world.Options{Args: []string{cases.ByHand}}, func(ctx SpecContext, w *world.World) (err error) {
	on = w
	if fixture, err = cases.Prepare(ctx, on); err == nil {
		DeferCleanup(fixture.Release)
	}
	return err
})
