// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ErrTerminating reports that the live object is being deleted. It can be applied again once it is gone; retry.
var ErrTerminating = errors.New("the object is being deleted")

// ErrInvalidDesired reports a desired object that must not be sent: a programming error, a retry does not help.
var ErrInvalidDesired = errors.New("invalid desired object")

// ConflictError reports an object of somebody else under a name that this operator needs. Retrying does not help until
// its owner acts.
type ConflictError struct {
	// GVK is the kind of the object.
	GVK schema.GroupVersionKind
	// Key is its namespace and name.
	Key types.NamespacedName
	// Label and Value are what marks an object as ours.
	Label, Value string
	// Found is the value of the label on the live object; empty when it has none.
	Found string
}

// Error implements error. It names the object and the remedies.
func (e *ConflictError) Error() string {
	state := "is not managed by " + e.Value
	if e.Found != "" {
		state = fmt.Sprintf("is managed by %q", e.Found)
	}
	return fmt.Sprintf("%s %s already exists and %s: delete or rename it, or hand it over with label %s=%s",
		e.GVK.Kind, keyString(e.Key), state, e.Label, e.Value)
}

// keyString prints a key without the leading slash of cluster-scoped objects.
func keyString(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}
