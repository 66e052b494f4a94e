// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package values

// Meta is the object metadata common to every template.
type Meta struct {
	// Name is the object's metadata.name.
	Name string
	// Namespace is the object's metadata.namespace.
	Namespace string
	// Labels are complete: templates add none of their own.
	Labels map[string]string
	// Annotations are complete; empty means none.
	Annotations map[string]string
}

// RouteTarget names the HTTPRoute a policy attaches to. It lies in the
// policy's own namespace, as Gateway API policies require.
type RouteTarget struct {
	// Name is the HTTPRoute's name.
	Name string
}
