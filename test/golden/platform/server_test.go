// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"path/filepath"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/internal/apiserver"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// TestARealAPIServerTakesEveryCase on each platform.
func TestARealAPIServerTakesEveryCase(t *testing.T) {
	t.Parallel()
	admin := apiserver.Admin(t)
	for _, name := range golden.Cases(t, "testdata") {
		for _, on := range []string{platform.OpenShift, platform.Kubernetes} {
			out, err := platform.Build(load(t, filepath.Join("testdata", name, "in.yaml"), on))
			if err != nil {
				t.Fatalf("Build() error = %v", err)
			}
			objects, err := parts.Engine(t).RenderAll(out.Requests)
			if err != nil {
				t.Fatalf("RenderAll() error = %v", err)
			}
			for _, o := range objects {
				if err := apiserver.Settles(t.Context(), admin, o); err != nil {
					t.Errorf("%s on %s: %s %s: %v", name, on, o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
}
