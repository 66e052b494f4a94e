// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import "k8s.io/apimachinery/pkg/runtime/schema"

// Operation is what the caller asked for.
type Operation string

const (
	// OperationApply is a call of Apply or ApplyWith.
	OperationApply Operation = "apply"
	// OperationDelete is the deletion of one object, by key, by labels or by pruning.
	OperationDelete Operation = "delete"
)

// Event describes one finished call for metrics.
type Event struct {
	GroupKind schema.GroupKind
	Operation Operation
	Outcome   Outcome
	// TookOver says that somebody else had a part in a protected sub-tree and no longer has.
	TookOver bool
	// Repaired says that somebody else had changed or deleted the object, see [Result].
	Repaired bool
	// Writes counts requests that may have changed the object, DryRuns those that could not.
	Writes, DryRuns int
}

// Recorder receives one event per object and call. It is called synchronously and must be safe for concurrent use.
type Recorder interface {
	Record(Event)
}

// discard is the Recorder of an Applier that was given none.
type discard struct{}

func (discard) Record(Event) {}
