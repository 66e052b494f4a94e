// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observability_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase has the schemas of the Prometheus operator judge. Those
// of Perses and of MonitoringStacks are in our words: see their files.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.Prometheus, testenv.Stacks, testenv.Perses)
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range platforms() {
			for _, o := range rendered(t, build(t, name, on).Requests) {
				if err := apiserver.Settles(t.Context(), admin, o); err != nil {
					t.Errorf("%s on %s: %s %s: %v", name, on, o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
}
