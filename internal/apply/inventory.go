// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Ref names one object in an inventory. The version is left out: it may change between releases.
type Ref struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String prints the reference for messages.
func (r Ref) String() string {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}.String() + " " +
		keyString(types.NamespacedName{Namespace: r.Namespace, Name: r.Name})
}

func refOf(obj *unstructured.Unstructured) Ref {
	gvk := obj.GroupVersionKind()
	return Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func compareRefs(a, b Ref) int {
	return cmp.Or(
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

func sortDeletions(deletions []Deletion) {
	slices.SortFunc(deletions, func(a, b Deletion) int { return compareRefs(a.Ref, b.Ref) })
}

// Inventory lists the objects that one owner applied, sorted and without duplicates, as its status keeps them.
type Inventory []Ref

// NewInventory returns the sorted inventory of the given references.
func NewInventory(refs ...Ref) Inventory {
	sorted := slices.Clone(refs)
	slices.SortFunc(sorted, compareRefs)
	return slices.Compact(sorted)
}

// InventoryOf returns the inventory of the given objects.
func InventoryOf(objects ...*unstructured.Unstructured) Inventory {
	refs := make([]Ref, 0, len(objects))
	for _, obj := range objects {
		refs = append(refs, refOf(obj))
	}
	return NewInventory(refs...)
}

// Without returns the references that are not in other.
func (i Inventory) Without(other Inventory) Inventory {
	present := make(map[Ref]struct{}, len(other))
	for _, ref := range other {
		present[ref] = struct{}{}
	}
	var rest []Ref
	for _, ref := range i {
		if _, ok := present[ref]; !ok {
			rest = append(rest, ref)
		}
	}
	return NewInventory(rest...)
}

// Union returns the references that are in either inventory.
func (i Inventory) Union(other Inventory) Inventory {
	return NewInventory(slices.Concat(i, other)...)
}

// PruneOptions narrow a Prune.
type PruneOptions struct {
	// Tracking are labels that an object must carry to be deleted, usually the UID of its owner. An object without them
	// was taken over by another owner and stays.
	Tracking map[string]string
}

// Pruned is the result of a Prune.
type Pruned struct {
	// Deletions tell what became of each object, sorted.
	Deletions []Deletion
	// Inventory is what the owner should record: the current objects and those whose deletion failed.
	Inventory Inventory
}

// Prune deletes the objects that are in the previous inventory and not in the current one. Call it last, after
// everything current was applied. It deletes only what is ours and matches the tracking labels, leaves opted-out
// objects behind, and reads past the cache.
func (a *Applier) Prune(ctx context.Context, previous, current Inventory, opts PruneOptions) (Pruned, error) {
	pruned := Pruned{Inventory: NewInventory(current...)}
	var errs []error
	for _, ref := range previous.Without(current) {
		outcome, err := a.pruneOne(ctx, ref, opts.Tracking)
		if err != nil {
			errs = append(errs, fmt.Errorf("prune %s: %w", ref, err))
			pruned.Inventory = append(pruned.Inventory, ref)
		}
		pruned.Deletions = append(pruned.Deletions, Deletion{Ref: ref, Outcome: outcome})
	}
	pruned.Inventory = NewInventory(pruned.Inventory...)
	return pruned, errors.Join(errs...)
}

func (a *Applier) pruneOne(ctx context.Context, ref Ref, tracking map[string]string) (Outcome, error) {
	kind := schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
	mapping, err := a.client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return NotFound, nil
	}
	if err != nil {
		return Failed, fmt.Errorf("find the version of %s: %w", kind, err)
	}
	live, err := a.find(ctx, a.reader, mapping.GroupVersionKind, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil {
		return Failed, err
	}
	if live == nil {
		return NotFound, nil
	}
	result, err := a.deleteFresh(ctx, live, tracking)
	return result.Outcome, err
}

// InventoryFrom reads an inventory from a status.
func InventoryFrom(entries []v1alpha1.InventoryEntry) Inventory {
	refs := make([]Ref, 0, len(entries))
	for _, e := range entries {
		refs = append(refs, Ref(e))
	}
	return NewInventory(refs...)
}

// Entries is the inventory as a status holds it.
func (i Inventory) Entries() []v1alpha1.InventoryEntry {
	entries := make([]v1alpha1.InventoryEntry, 0, len(i))
	for _, ref := range i {
		entries = append(entries, v1alpha1.InventoryEntry(ref))
	}
	return entries
}
