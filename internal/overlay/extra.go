// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Scope is what a further object exists once for.
type Scope string

// Scopes.
const (
	ScopeInstallation Scope = "Installation"
	ScopeTenant       Scope = "Tenant"
)

// Extra is a further object.
type Extra struct {
	// ID is the template, extra/<kind>-<name>.
	ID render.ID
	// GVK is its kind.
	GVK schema.GroupVersionKind
	// Scope says how many there are.
	Scope Scope

	declared, found bool
}

// extraDocument is the form of extra.yaml.
type extraDocument struct {
	// Objects are the further objects.
	Objects []struct {
		// ID is the template.
		ID render.ID `json:"id"`
		// APIVersion and Kind are those of the object.
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		// Scope is Installation (one object, in the operator's namespace) or Tenant
		// (one in every tenant's namespace).
		Scope Scope `json:"scope"`
	} `json:"objects"`
}

func (o *Overlay) declareExtras(content []byte) error {
	var document extraDocument
	if err := strict(content, &document); err != nil {
		return err
	}
	var errs []error
	for _, declared := range document.Objects {
		version, err := schema.ParseGroupVersion(declared.APIVersion)
		switch {
		case err != nil || version.Version == "" || declared.Kind == "":
			errs = append(errs, fmt.Errorf("objects: %s: needs apiVersion and kind", declared.ID))
		case declared.Scope != ScopeInstallation && declared.Scope != ScopeTenant:
			errs = append(errs, fmt.Errorf("objects: %s: scope is %q; set it to %s or %s", declared.ID, declared.Scope, ScopeInstallation, ScopeTenant))
		case o.extra(declared.ID).declared:
			errs = append(errs, fmt.Errorf("objects: %s: is declared twice", declared.ID))
		}
		*o.extra(declared.ID) = Extra{ID: declared.ID, GVK: version.WithKind(declared.Kind), Scope: declared.Scope, declared: true, found: o.extra(declared.ID).found}
	}
	return errors.Join(errs...)
}

func (o *Overlay) addExtra(id render.ID) { o.extra(id).found = true }

// extra returns the entry of a further object, which it makes when there is none.
func (o *Overlay) extra(id render.ID) *Extra {
	for i := range o.Extras {
		if o.Extras[i].ID == id {
			return &o.Extras[i]
		}
	}
	o.Extras = append(o.Extras, Extra{ID: id})
	slices.SortFunc(o.Extras, func(a, b Extra) int { return cmp.Compare(a.ID, b.ID) })
	return o.extra(id)
}

// checkExtras makes sure that what is declared is there, and the reverse.
func (o *Overlay) checkExtras() []error {
	var errs []error
	for _, extra := range o.Extras {
		switch {
		case !extra.declared:
			errs = append(errs, fmt.Errorf("overlay file %s/%s: is not declared; add it to %s with its kind", templatesDir, extra.ID.File(), extraFile))
		case !extra.found:
			errs = append(errs, fmt.Errorf("overlay file %s: %s has no file; add %s/%s or remove the entry", extraFile, extra.ID, templatesDir, extra.ID.File()))
		}
	}
	return errs
}
