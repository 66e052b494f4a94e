// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Where the parts of an overlay lie in it.
const (
	imagesFile   = "images.yaml"
	profileFile  = "profile.yaml"
	extraFile    = "extra.yaml"
	patchesDir   = "patches"
	templatesDir = "templates"
	// extraComponent is the component of further templates.
	extraComponent = "extra"

	patchSuffix    = ".yaml"
	templateSuffix = ".yaml.tmpl"
)

// maxDepth bounds the directories of an overlay, so that a link to one above ends.
const maxDepth = 4

// maxFile bounds a file of an overlay; mounted ConfigMaps are smaller.
const maxFile = 1 << 20

// Overlay is everything a packager changes.
type Overlay struct {
	// Digest is the SHA-256, in hex, of all files with their paths; empty when there
	// is none.
	Digest string
	// Images are references by key. Variables of the environment win over them.
	Images map[string]string
	// Profile is the distribution.
	Profile Profile
	// Patches are in the order of their files.
	Patches []Patch
	// Replacements are sorted by template.
	Replacements []Replacement
	// Extras are sorted by template.
	Extras []Extra
}

// Empty tells whether there is nothing to change.
func (o *Overlay) Empty() bool { return o.Digest == "" }

// Load reads an overlay. All faults are reported, joined: a file that is neither
// empty nor understood, a field that does not exist, a file that is no part of an
// overlay. Dot files and directories, which mounted volumes hold, are left out.
func Load(files fs.FS) (*Overlay, error) {
	o := &Overlay{}
	names, err := list(files)
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	var errs []error
	for _, name := range names {
		content, err := read(files, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		// The length keeps the end of one file from passing for the head of another.
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content) // a hash takes everything
		if err := o.take(name, content); err != nil {
			errs = append(errs, fmt.Errorf("overlay file %s: %w", name, err))
		}
	}
	errs = append(errs, o.checkExtras()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(names) > 0 {
		o.Digest = hex.EncodeToString(hash.Sum(nil))
	}
	return o, nil
}

// list returns the files, sorted.
func list(files fs.FS) ([]string, error) {
	names, err := below(files, ".")
	if err != nil {
		return nil, fmt.Errorf("list the template overlay: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// below returns the files of a directory and of those in it. A mounted ConfigMap has
// links in the place of its directories, which are followed.
func below(files fs.FS, dir string) ([]string, error) {
	if strings.Count(dir, "/") > maxDepth {
		return nil, fmt.Errorf("directory %s lies too deep", dir)
	}
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		name := path.Join(dir, entry.Name())
		info, err := fs.Stat(files, name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = append(names, name)
			continue
		}
		further, err := below(files, name)
		if err != nil {
			return nil, err
		}
		names = append(names, further...)
	}
	return names, nil
}

func read(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, fmt.Errorf("overlay file %s: %w", name, err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("overlay file %s: is larger than 1 MiB; an overlay holds templates and patches only", name)
	}
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("overlay file %s: %w", name, err)
	}
	return content, nil
}

// take enters one file.
func (o *Overlay) take(name string, content []byte) error {
	dir := path.Dir(name)
	switch {
	case name == imagesFile:
		return strict(content, &o.Images)
	case name == profileFile:
		return o.Profile.read(content)
	case name == extraFile:
		return o.declareExtras(content)
	case dir == patchesDir && strings.HasSuffix(name, patchSuffix):
		patch, err := readPatch(name, content)
		o.Patches = append(o.Patches, patch)
		return err
	case dir == path.Join(templatesDir, extraComponent) && strings.HasSuffix(name, templateSuffix):
		o.addExtra(idOf(name))
		return nil
	case path.Dir(dir) == templatesDir && strings.HasSuffix(name, templateSuffix):
		replacement, err := readReplacement(idOf(name), content)
		o.Replacements = append(o.Replacements, replacement)
		return err
	default:
		return errors.New("is no part of an overlay; it holds images.yaml, profile.yaml, extra.yaml, patches/*.yaml and templates/<component>/*.yaml.tmpl")
	}
}

// idOf is the template behind a path below templates/.
func idOf(name string) render.ID {
	return render.ID(strings.TrimSuffix(strings.TrimPrefix(name, templatesDir+"/"), templateSuffix))
}
