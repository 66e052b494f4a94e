// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package samples_test

import (
	"testing"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/samples"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
)

// A template without a sample would take any patch for one that changes nothing.
func TestEveryTemplateHasASampleThatRenders(t *testing.T) {
	t.Parallel()
	requests, err := samples.Requests()
	if err != nil {
		t.Fatalf("Requests() error = %v", err)
	}
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()), render.WithScheme(clientgoscheme.Scheme))
	if err != nil {
		t.Fatalf("render.New() error = %v", err)
	}
	seen := map[render.ID]bool{}
	for _, request := range requests {
		seen[request.ID] = true
		if _, err := engine.Render(request); err != nil {
			t.Errorf("Render(%s) error = %v", request.ID, err)
		}
	}
	for _, entry := range desired.Components() {
		if !seen[entry.ID] {
			t.Errorf("no sample of %s", entry.ID)
		}
	}
}
