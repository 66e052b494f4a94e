// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package addons_test

import (
	"slices"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase applies each case twice: nothing in it is refused, not
// even as a field nobody knows, and the second time nothing is left to do.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.GatewayAPI, testenv.Kuadrant, testenv.Istio)
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range platforms() {
			got := build(t, name, on)
			for _, o := range slices.Concat(got.telemetry, got.payload) {
				if err := apiserver.Settles(t.Context(), admin, o); err != nil {
					t.Errorf("%s on %s: %s %s: %v", name, on, o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
}
