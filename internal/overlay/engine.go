// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"io/fs"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Base is what an overlay changes: the templates of this release.
type Base struct {
	// Files are the templates.
	Files fs.FS
	// Table is the component table.
	Table []render.Entry
	// Images are references by key, those of the overlay included.
	Images map[string]string
	// Scheme knows the kinds whose fields are checked; nil for none.
	Scheme *runtime.Scheme
}

// engine builds the engine without an overlay.
func (b Base) engine() (*render.Engine, error) {
	return render.New(b.Files, b.Table, b.options()...)
}

func (b Base) options() []render.Option {
	return []render.Option{render.WithImages(b.Images), render.WithScheme(b.Scheme)}
}

// engine builds the engine that renders with the overlay. seen, if not nil, is told
// of every patch that changed an object.
func (o *Overlay) engine(base Base, seen func(*Patch)) (*render.Engine, error) {
	files := base.Files
	if len(o.Replacements) > 0 {
		over := overlaid{base: base.Files, files: make(map[string][]byte, len(o.Replacements))}
		for _, r := range o.Replacements {
			over.files[r.ID.File()] = r.text
		}
		files = over
	}
	return render.New(files, base.Table, append(base.options(), render.WithTransform(o.transform(seen)))...)
}

// transform changes a rendered object as profile and patches say. What the operator
// knows its objects by stays as it is.
func (o *Overlay) transform(seen func(*Patch)) render.Transform {
	byTarget := map[render.ID][]*Patch{}
	for i := range o.Patches {
		byTarget[o.Patches[i].Target] = append(byTarget[o.Patches[i].Target], &o.Patches[i])
	}
	return func(id render.ID, object *unstructured.Unstructured) error {
		object.SetLabels(added(object.GetLabels(), o.Profile.Labels))
		object.SetAnnotations(added(object.GetAnnotations(), o.Profile.Annotations))
		before := identityOf(object)
		for _, patch := range byTarget[id] {
			former := object
			if seen != nil {
				former = object.DeepCopy()
			}
			if err := patch.apply(object); err != nil {
				return err
			}
			if seen != nil && !equality.Semantic.DeepEqual(former.Object, object.Object) {
				seen(patch)
			}
			if err := before.changed(object); err != nil {
				return fmt.Errorf("%s: %w", patch.File, err)
			}
		}
		return nil
	}
}

// added returns a map with further keys; what is there already wins.
func added(to, further map[string]string) map[string]string {
	if len(further) == 0 {
		return to
	}
	all := maps.Clone(further)
	maps.Copy(all, to)
	return all
}
