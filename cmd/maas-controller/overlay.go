// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/opendatahub-io/maas-operator/controllers/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/samples"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/overlay"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/version"
	"github.com/opendatahub-io/maas-operator/templates"
)

// defaultOverlay is where packagers put an overlay into the image, and where OLM mounts
// one. It need not be there.
const defaultOverlay = "/opt/overlay"

// rendering is what objects are rendered with.
type rendering struct {
	engine  *render.Engine
	overlay *overlay.Overlay
	// problems are those of the overlay that the policy tolerates.
	problems []overlay.Problem
}

// provenance is what the status of Config says about it.
func (r rendering) provenance() platform.Provenance {
	p := platform.Provenance{Release: version.Get().Version, OverlayDigest: r.overlay.Digest}
	for _, problem := range r.problems {
		p.OverlayProblems = append(p.OverlayProblems, problem.String())
	}
	return p
}

// loadTemplates builds the engine with the overlay. It ends the program before it can
// become the leader when the overlay is not in order: the Pod of the former release goes
// on then.
func loadTemplates(c Config, variable variables, environ []string) (rendering, error) {
	o, err := loadOverlay(c.TemplateOverlay)
	if err != nil {
		return rendering{}, err
	}
	references, err := images.Resolve(variable, environ, o.Images, version.Get().Release())
	if err != nil {
		return rendering{}, fmt.Errorf("find the images to run: %w", err)
	}
	base := overlay.Base{Files: templates.FS, Table: desired.Components(), Images: references}
	if o.Empty() {
		engine, err := render.New(base.Files, base.Table, render.WithImages(base.Images))
		if err != nil {
			return rendering{}, fmt.Errorf("load the templates: %w", err)
		}
		return rendering{engine: engine, overlay: o}, nil
	}
	requests, err := samples.Requests()
	if err != nil {
		return rendering{}, fmt.Errorf("load the samples of templates: %w", err)
	}
	result, err := overlay.Verify(o, base, requests)
	if err != nil {
		return rendering{}, err
	}
	if err := result.Err(overlay.Policy(c.TemplateOverlayPolicy)); err != nil {
		return rendering{}, fmt.Errorf("check the template overlay in %s; maasctl overlay verify shows the same: %w", c.TemplateOverlay, err)
	}
	return rendering{engine: result.Engine, overlay: o, problems: result.Problems}, nil
}

// loadOverlay reads the overlay, if there is one: only the default directory may be
// missing.
func loadOverlay(dir string) (*overlay.Overlay, error) {
	info, err := os.Stat(dir)
	switch {
	case dir == "" || errors.Is(err, fs.ErrNotExist) && dir == defaultOverlay:
		return &overlay.Overlay{}, nil
	case err != nil:
		return nil, fmt.Errorf("open the template overlay; correct --template-overlay: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("open the template overlay: %s is not a directory; correct --template-overlay", dir)
	}
	o, err := overlay.Load(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("read the template overlay in %s: %w", dir, err)
	}
	return o, nil
}
