// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// EventReason is the reason of an event that is no reason of a condition. Most
// events tell of a condition that changed, and carry the condition's reason.
type EventReason string

// Reasons of events alone.
const (
	// EventModelNameConflictResolved: the model no longer shares its alias with
	// another model of its namespace.
	EventModelNameConflictResolved EventReason = "ModelNameConflictResolved"
	// EventDriftRepaired: somebody had changed or deleted a generated policy, and the
	// operator put it back.
	EventDriftRepaired EventReason = "DriftRepaired"
	// EventConflictingAuthPolicy: an AuthPolicy of somebody else targets the route of
	// a model of the MaaSAuthPolicy.
	EventConflictingAuthPolicy EventReason = "ConflictingAuthPolicy"
	// EventConflictingAuthPolicyResolved: no AuthPolicy of somebody else does so any
	// more.
	EventConflictingAuthPolicyResolved EventReason = "ConflictingAuthPolicyResolved"
	// EventAITenantCleanupForced: the deletion of an AITenant took too long; its
	// finalizer was removed without proof that its API keys are revoked.
	EventAITenantCleanupForced EventReason = "AITenantCleanupForced"
	// EventAITenantCleanedUp: nothing of the AITenant is left but its namespace and what
	// users have in it.
	EventAITenantCleanedUp EventReason = "AITenantCleanedUp"
)

// EventAction is the action of an event: what the operator was doing.
type EventAction string

// Actions of events.
const (
	// ActionReconcile: the operator brought an object up to date.
	ActionReconcile EventAction = "Reconcile"
	// ActionDelete: the operator cleaned up after an object that is being deleted.
	ActionDelete EventAction = "Delete"
)
