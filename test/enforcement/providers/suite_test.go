// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers shows what becomes of requests to models that a provider outside of
// the cluster serves. Users make ExternalModels, and everything else is the product's: the
// gateway finds the provider by the objects that the operator made, over TLS with an
// authority of the provider's own, and the real engines carry out the policies. The key
// of the provider is added by a stand-in for payload processing, which takes nothing away.
package providers

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

func TestProviders(t *testing.T) { world.RunSpecs(t, "models of providers at a tenant's gateway") }

var _ = world.Suite(world.Options{Provider: true}, func(ctx SpecContext, w *world.World) error {
	on, at = w, &fixture{tenant: w.Default}
	return at.prepare(ctx)
})
