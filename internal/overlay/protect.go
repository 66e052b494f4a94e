// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ownDomains are the domains of keys the operator finds and judges its objects by.
var ownDomains = []string{"maas.opendatahub.io", "opendatahub.io", "app.kubernetes.io"}

// protectedKey tells whether a label or annotation is the operator's own.
func protectedKey(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && slices.ContainsFunc(ownDomains, func(own string) bool {
		return domain == own || strings.HasSuffix(domain, "."+own)
	})
}

// protectedFields are what no overlay changes about an object, whatever its kind:
// how the operator finds it again, who may undo it, and what its selectors match.
var protectedFields = [...][]string{
	{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"},
	{"metadata", "ownerReferences"}, {"metadata", "finalizers"},
}

// selectorKinds are kinds whose spec.selector decides which pods are theirs.
var selectorKinds = []string{"Deployment", "Service", "PodDisruptionBudget"}

// identity is the protected part of an object.
type identity struct {
	fields      map[string]any
	labels      map[string]string
	annotations map[string]string
}

// identityOf copies the protected part.
func identityOf(object *unstructured.Unstructured) identity {
	found := identity{fields: map[string]any{}, labels: protectedOf(object.GetLabels()), annotations: protectedOf(object.GetAnnotations())}
	fields := protectedFields[:]
	if slices.Contains(selectorKinds, object.GetKind()) {
		fields = append(slices.Clone(fields), []string{"spec", "selector"})
	}
	for _, field := range fields {
		if value, isSet, err := unstructured.NestedFieldCopy(object.Object, field...); err == nil && isSet {
			found.fields[strings.Join(field, ".")] = value
		}
	}
	return found
}

func protectedOf(all map[string]string) map[string]string {
	own := maps.Clone(all)
	maps.DeleteFunc(own, func(key, _ string) bool { return !protectedKey(key) })
	return own
}

// changed names the first protected part in which another object differs.
func (i identity) changed(object *unstructured.Unstructured) error {
	other := identityOf(object)
	paths := slices.Sorted(maps.Keys(i.fields))
	for path := range other.fields {
		if _, known := i.fields[path]; !known {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if !equality.Semantic.DeepEqual(i.fields[path], other.fields[path]) {
			return &IdentityError{Path: path}
		}
	}
	for _, part := range []struct {
		path     string
		old, new map[string]string
	}{{"metadata.labels", i.labels, other.labels}, {"metadata.annotations", i.annotations, other.annotations}} {
		if key, differs := firstDifference(part.old, part.new); differs {
			return &IdentityError{Path: fmt.Sprintf("%s[%s]", part.path, key)}
		}
	}
	return nil
}

func firstDifference(a, b map[string]string) (string, bool) {
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	for _, key := range keys {
		if old, was := a[key]; old != b[key] || was != has(b, key) {
			return key, true
		}
	}
	return "", false
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

// IdentityError says that an overlay changes what makes an object the operator's own.
type IdentityError struct {
	// Path is the field.
	Path string
}

func (e *IdentityError) Error() string {
	return "changes " + e.Path + ", by which the operator knows its objects; leave it as it is"
}
