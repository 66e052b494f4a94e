// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// optedOut reports whether an administrator took the object over. Only the exact value counts.
func optedOut(live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[v1alpha1.AnnotationManaged] == "false"
}

// labelledOurs reports whether the object carries our label.
func labelledOurs(live *unstructured.Unstructured) bool {
	return live.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue
}

// ours reports whether an existing object may be applied to: it carries our label, or an earlier apply of ours (then
// somebody removed the label, which is drift).
func (a *Applier) ours(live *unstructured.Unstructured) bool {
	if labelledOurs(live) {
		return true
	}
	return slices.ContainsFunc(managedFields(live), a.isOwnEntry)
}

// managedFields returns the entries of metadata.managedFields in their JSON form, without copying.
func managedFields(live *unstructured.Unstructured) []any {
	metadata, _ := live.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return entries
}

// isOwnEntry reports whether an entry was written by our own apply requests.
func (a *Applier) isOwnEntry(entry any) bool {
	e, _ := entry.(map[string]any)
	return e["manager"] == a.owner && e["operation"] == string(metav1.ManagedFieldsOperationApply) && isMainResource(e)
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
			e, _ := entry.(map[string]any)
			tree, _ := e["fieldsV1"].(map[string]any)
			return tree
		}
	}
	return nil
}

// shared reports whether anybody but our own apply requests owns something below one of the given top-level fields.
// That includes Update entries under our name, which an earlier release or a replacement may have left.
func (a *Applier) shared(live *unstructured.Unstructured, fields []string) bool {
	return slices.ContainsFunc(managedFields(live), func(entry any) bool {
		e, _ := entry.(map[string]any)
		if e == nil || a.isOwnEntry(entry) || !isMainResource(e) {
			return false
		}
		tree, _ := e["fieldsV1"].(map[string]any)
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
		e, _ := entry.(map[string]any)
		if e != nil && !a.isOwnEntry(entry) && isMainResource(e) {
			tree, _ := e["fieldsV1"].(map[string]any)
			for _, field := range fields {
				delete(tree, fieldPrefix+field)
			}
			if len(tree) == 0 {
				continue
			}
		}
		kept = append(kept, entry)
	}
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		metadata["managedFields"] = kept
	}
}
