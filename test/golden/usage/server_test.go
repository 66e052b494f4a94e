// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// TestARealAPIServerTakesEveryCase has the schemas of Istio and Kubernetes judge. Those of
// Perses and the collector's operator are in our words: see their files.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t, testenv.Istio, testenv.Perses, testenv.OpenTelemetry)
	for _, name := range golden.Cases(t, "testdata") {
		for file, requests := range build(t, name) {
			objects, err := parts.Engine(t).RenderAll(requests)
			if err != nil {
				t.Fatalf("RenderAll() error = %v", err)
			}
			for _, o := range objects {
				if err := apiserver.Settles(t.Context(), admin, o); err != nil {
					t.Errorf("%s, %s: %s %s: %v", name, file, o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
}
