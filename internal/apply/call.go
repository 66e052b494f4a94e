// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// call is the state of one Apply.
type call struct {
	want      *unstructured.Unstructured
	protected []string
	opts      CallOptions

	live *unstructured.Unstructured // the copy being judged; nil: there is none. Never changed.
	diff comparison                 // of want and live

	tookOver        bool
	repaired        bool
	writes, dryRuns int
}

// at starts over with another copy of the live object.
func (c *call) at(live *unstructured.Unstructured) *call {
	c.live, c.diff = live, comparison{}
	return c
}

func (c *call) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.want.GetNamespace(), Name: c.want.GetName()}
}

// String names the object for errors.
func (c *call) String() string {
	return c.want.GetKind() + " " + keyString(c.key())
}

func (c *call) count(dryRun bool) {
	if dryRun {
		c.dryRuns++
	} else {
		c.writes++
	}
}

func (c *call) event(operation Operation, outcome Outcome) Event {
	return Event{
		GroupKind: c.want.GroupVersionKind().GroupKind(), Operation: operation, Outcome: outcome,
		TookOver: c.tookOver, Repaired: c.repaired, Writes: c.writes, DryRuns: c.dryRuns,
	}
}

// comparison is what distinguishes a live object from the desired one.
type comparison struct {
	// protected are differences inside the protected fields, compared as whole trees.
	protected []Difference
	// owned are differences elsewhere, in fields that are desired or were ours.
	owned []Difference
}

func (c comparison) empty() bool {
	return len(c.protected) == 0 && len(c.owned) == 0
}

// compare finds what distinguishes live from want.
func (a *Applier) compare(want, live *unstructured.Unstructured) comparison {
	fields := protectedFields(want)
	skip := make(map[string]bool, len(fields)+5)
	for _, path := range append([]string{"apiVersion", "kind", "status", "metadata.name", "metadata.namespace"}, fields...) {
		skip[path] = true
	}
	var whole, owned differences
	for _, field := range fields {
		whole.wholeMember(field, field, want.Object, live.Object)
	}
	owned.ownedMembers("", want.Object, live.Object, a.ownTree(live), func(path string) bool { return skip[path] })
	return comparison{protected: whole.found, owned: owned.found}
}
