// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// optedOut reports whether an administrator took the object over. Only the exact value counts.
func optedOut(live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[v1alpha1.AnnotationManaged] == "false"
}

// labelledOurs reports whether the object carries our label, as this release or an earlier one wrote it.
func labelledOurs(live *unstructured.Unstructured) bool {
	switch live.GetLabels()[v1alpha1.LabelManagedBy] {
	case v1alpha1.ManagedByValue, v1alpha1.ManagedByLegacyExternalModel:
		return true
	default:
		return false
	}
}

// ours reports whether an existing object may be applied to or deleted: it carries our label, or an earlier apply of
// ours (then somebody removed the label, which is drift).
func (a *Applier) ours(live *unstructured.Unstructured) bool { return Owns(live, a.owner) }

// Owns tells whether an Applier with that field owner would take a live object for its own. A cache that keeps less of
// the objects of others must keep those whole.
func Owns(live *unstructured.Unstructured, fieldOwner string) bool {
	return labelledOurs(live) || slices.ContainsFunc(managedFields(live), func(entry any) bool { return isEntryOf(entry, fieldOwner) })
}

// managedFields returns the entries of metadata.managedFields in their JSON form, without copying.
func managedFields(live *unstructured.Unstructured) []any {
	metadata, _ := live.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return entries
}

// isOwnEntry reports whether an entry was written by our own apply requests.
func (a *Applier) isOwnEntry(entry any) bool { return isEntryOf(entry, a.owner) }

// isEntryOf reports whether an entry was written by apply requests of that field owner.
func isEntryOf(entry any, owner string) bool {
	e, _ := entry.(map[string]any)
	return e["manager"] == owner && e["operation"] == string(metav1.ManagedFieldsOperationApply) && isMainResource(e)
}

// isMainResource reports whether an entry was written through the object itself and not through a sub-resource, which
// cannot change what we protect.
func isMainResource(entry map[string]any) bool {
	sub, ok := entry["subresource"]
	return !ok || sub == ""
}

// ownTree returns the fields that our own apply requests own; nil when there are none.
func (a *Applier) ownTree(live *unstructured.Unstructured) fieldTree {
	for _, entry := range managedFields(live) {
		if a.isOwnEntry(entry) {
			return treeOf(entry)
		}
	}
	return nil
}

// treeOf returns the fields of one entry.
func treeOf(entry any) fieldTree {
	e, _ := entry.(map[string]any)
	tree, _ := e["fieldsV1"].(map[string]any)
	return tree
}

// shared reports whether anybody but our own apply requests owns something below one of the given top-level fields.
// That includes Update entries under our name, which an earlier release or a replacement may have left.
func (a *Applier) shared(live *unstructured.Unstructured, fields []string) bool {
	return slices.ContainsFunc(managedFields(live), func(entry any) bool {
		if !a.isForeign(entry) {
			return false
		}
		tree := treeOf(entry)
		return slices.ContainsFunc(fields, func(field string) bool {
			_, owns := tree[fieldPrefix+field]
			return owns
		})
	})
}

// claim removes everybody else's ownership of the given top-level fields from the managedFields of obj, in place.
func (a *Applier) claim(obj *unstructured.Unstructured, fields []string) {
	kept := make([]any, 0, len(managedFields(obj)))
	for _, entry := range managedFields(obj) {
		if a.isForeign(entry) {
			tree := treeOf(entry)
			for _, field := range fields {
				delete(tree, fieldPrefix+field)
			}
			if len(tree) == 0 {
				continue
			}
		}
		kept = append(kept, entry)
	}
	setManagedFields(obj, kept)
}

// isForeign reports whether an entry is another than that of our own apply requests, and for the object itself.
func (a *Applier) isForeign(entry any) bool {
	e, ok := entry.(map[string]any)
	return ok && !a.isOwnEntry(entry) && isMainResource(e)
}

func setManagedFields(obj *unstructured.Unstructured, entries []any) {
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		metadata["managedFields"] = entries
	}
}

// inherit gives what certain entries own, such as those of earlier releases, to our apply entry, in place, so that the
// next apply removes what is no longer wanted. It reports whether there was anything. Metadata is left out: programs of
// others share the names.
func (a *Applier) inherit(obj *unstructured.Unstructured, from func(entry any) bool) bool {
	var own map[string]any
	var kept, inherited []any
	for _, entry := range managedFields(obj) {
		switch {
		case a.isOwnEntry(entry):
			own, _ = entry.(map[string]any)
		case from(entry):
			inherited = append(inherited, entry)
			continue
		}
		kept = append(kept, entry)
	}
	if len(inherited) == 0 {
		return false
	}
	if own == nil {
		own = map[string]any{
			"manager": a.owner, "operation": string(metav1.ManagedFieldsOperationApply),
			"apiVersion": obj.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": map[string]any{},
		}
		kept = append(kept, own)
	}
	for _, entry := range inherited {
		e, _ := entry.(map[string]any)
		if e["apiVersion"] != own["apiVersion"] {
			kept = append(kept, entry) // its fields may be called differently
			continue
		}
		rest := fieldTree{}
		for element, sub := range treeOf(entry) {
			if isContent(element) {
				merge(treeOf(own), fieldTree{element: sub})
			} else {
				rest[element] = sub
			}
		}
		if len(rest) > 0 {
			remainder := maps.Clone(e)
			remainder["fieldsV1"] = map[string]any(rest)
			kept = append(kept, remainder)
		}
	}
	setManagedFields(obj, kept)
	return true
}

// isFormer reports whether an entry was written by an earlier release and owns more than metadata.
func (a *Applier) isFormer(entry any) bool {
	e, _ := entry.(map[string]any)
	manager, _ := e["manager"].(string)
	return e["operation"] == string(metav1.ManagedFieldsOperationUpdate) && slices.Contains(a.former, manager) && a.ownsContent(entry)
}

// ownsContent reports whether an entry is somebody else's and owns more than metadata and status.
func (a *Applier) ownsContent(entry any) bool {
	if !a.isForeign(entry) {
		return false
	}
	for element := range treeOf(entry) {
		if isContent(element) {
			return true
		}
	}
	return false
}

// isContent reports whether a top-level field is neither metadata nor status.
func isContent(element string) bool {
	return element != fieldPrefix+"metadata" && element != fieldPrefix+"status"
}

// merge adds the fields of one tree to another.
func merge(into, from fieldTree) {
	for element, sub := range from {
		target, both := into.child(element)
		if source, ok := sub.(map[string]any); both && ok {
			merge(target, source)
		} else {
			into[element] = sub
		}
	}
}
