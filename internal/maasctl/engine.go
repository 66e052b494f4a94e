// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"fmt"
	"maps"
	"os"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/samples"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/overlay"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates"
)

// release are the templates of this release.
func release(o *overlay.Overlay) overlay.Base {
	references := images.Development()
	if o != nil {
		maps.Copy(references, o.Images)
	}
	return overlay.Base{Files: templates.FS, Table: desired.Components(), Images: references, Scheme: clientgoscheme.Scheme}
}

// upstream is the engine without any overlay.
func upstream() (*render.Engine, error) {
	base := release(nil)
	engine, err := render.New(base.Files, base.Table, render.WithImages(base.Images), render.WithScheme(base.Scheme))
	if err != nil {
		return nil, fmt.Errorf("the templates of this release: %w", err)
	}
	return engine, nil
}

// readOverlay reads an overlay from a directory.
func readOverlay(dir string) (*overlay.Overlay, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open the overlay: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("open the overlay: %s is not a directory", dir)
	}
	o, err := overlay.Load(os.DirFS(dir))
	if err != nil {
		return nil, invalid(err)
	}
	return o, nil
}

// verify checks an overlay as the operator does when it starts.
func verify(dir string) (overlay.Result, *overlay.Overlay, error) {
	o, err := readOverlay(dir)
	if err != nil {
		return overlay.Result{}, nil, err
	}
	requests, err := samples.Requests()
	if err != nil {
		return overlay.Result{}, nil, err
	}
	result, err := overlay.Verify(o, release(o), requests)
	return result, o, err
}
