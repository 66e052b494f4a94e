// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired holds the component table: which templates exist, what they
// render, when their objects are wanted, what the cluster must serve for them,
// in which order they are applied and which values they take. The packages
// below this one decide whether a particular object is wanted, and compute its
// values.
package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Stages order the objects of one unit of work: lower ones are applied first.
const (
	// stageDefault comes before the limits of a Gateway, which are in error where
	// nobody asks who is calling.
	stageDefault = 5
	// stageLimits comes before access: whoever is let in is limited already.
	stageLimits = 10
	stageAccess = 20
	// stageRights comes before what runs with them.
	stageRights = 30
	// stageNetwork comes before what it closes in.
	stageNetwork  = 35
	stageWorkload = 40
	// stageRoute comes last: a route leads to what is there and guarded.
	stageRoute = 50
)

// Component is one row of the component table: an object the operator writes.
type Component struct {
	render.Entry
	// WantedWhen says for readers when there is such an object. It is removed
	// when that no longer holds.
	WantedWhen string
	// Requires is the name of the CustomResourceDefinition without which the
	// object cannot be written; empty for kinds that every cluster serves.
	Requires string
	// Optional objects are left out, with a warning, on a cluster that does not
	// serve what they require. For others the unit of work waits.
	Optional bool
}

// row is a component of a kind that every cluster serves.
func row(stage int, id render.ID, kind schema.GroupVersionKind, v any, wanted string) Component {
	return Component{Entry: render.Entry{ID: id, Stage: stage, GVK: kind, Values: v}, WantedWhen: wanted}
}

// requires is the same component of a kind that a CustomResourceDefinition brings.
func (c Component) requires(crd string) Component {
	c.Requires = crd
	return c
}

// optionally is the same, left out where the kind is not served.
func (c Component) optionally(crd string) Component {
	c.Optional = true
	return c.requires(crd)
}

// Table is the component table.
func Table() []Component {
	return slices.Concat(modelComponents(), gatewayComponents(), tenantComponents(), platformComponents())
}

// Components is the part of the table that rendering needs.
func Components() []render.Entry {
	table := Table()
	entries := make([]render.Entry, 0, len(table))
	for i := range table {
		entries = append(entries, table[i].Entry)
	}
	return entries
}
