// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Phases of a MaaSAuthPolicy and a MaaSSubscription.
const (
	// PhasePending: not evaluated yet, or nothing of it is in force yet.
	PhasePending Phase = "Pending"
	// PhaseActive: every model is known and its generated policy is enforced.
	PhaseActive Phase = "Active"
	// PhaseDegraded: works for some of the models, or with former limits until the
	// gateway has taken up an edit.
	PhaseDegraded Phase = "Degraded"
	// PhaseFailed: works for none of the models, or could not be evaluated.
	PhaseFailed Phase = "Failed"
	// PhaseInvalid: stored without a spec by an earlier release; ignored.
	PhaseInvalid Phase = "Invalid"
)

// Phase is the state of a MaaSAuthPolicy or MaaSSubscription in one word.
// +kubebuilder:validation:Enum=Pending;Active;Degraded;Failed;Invalid
type Phase string

// Phases of a MaaSModelRef.
const (
	// ModelPhasePending: the route of the model does not exist yet or is not
	// accepted by its Gateway.
	ModelPhasePending ModelPhase = "Pending"
	// ModelPhaseReady: the backend is ready behind an accepted route.
	ModelPhaseReady ModelPhase = "Ready"
	// ModelPhaseUnhealthy: the route is accepted but the backend is not ready.
	ModelPhaseUnhealthy ModelPhase = "Unhealthy"
	// ModelPhaseFailed: the backend does not exist, or the model could not be
	// evaluated.
	ModelPhaseFailed ModelPhase = "Failed"
	// ModelPhaseInvalid: stored without a spec by an earlier release; ignored.
	ModelPhaseInvalid ModelPhase = "Invalid"
)

// ModelPhase is the state of a MaaSModelRef in one word.
// +kubebuilder:validation:Enum=Pending;Ready;Unhealthy;Failed;Invalid
type ModelPhase string

// Phases of an ExternalModel.
const (
	// ExternalModelPhasePending: not reachable through the gateway yet.
	ExternalModelPhasePending ExternalModelPhase = "Pending"
	// ExternalModelPhaseReady: reachable through the gateway.
	ExternalModelPhaseReady ExternalModelPhase = "Ready"
	// ExternalModelPhaseFailed: its objects could not be made.
	ExternalModelPhaseFailed ExternalModelPhase = "Failed"
)

// ExternalModelPhase is the state of an ExternalModel in one word.
// +kubebuilder:validation:Enum=Pending;Ready;Failed
type ExternalModelPhase string

// Phases of an AITenant.
const (
	// AITenantPhasePending: being set up.
	AITenantPhasePending AITenantPhase = "Pending"
	// AITenantPhaseActive: set up.
	AITenantPhaseActive AITenantPhase = "Active"
	// AITenantPhaseFailed: somebody must act, see condition Ready.
	AITenantPhaseFailed AITenantPhase = "Failed"
	// AITenantPhaseTerminating: being deleted.
	AITenantPhaseTerminating AITenantPhase = "Terminating"
)

// AITenantPhase is the state of an AITenant in one word.
// +kubebuilder:validation:Enum=Pending;Active;Failed;Terminating
type AITenantPhase string

// Phases of a MaasTenantConfig.
const (
	// TenantPhasePending: being set up or waiting for something.
	TenantPhasePending TenantPhase = "Pending"
	// TenantPhaseActive: the tenant's services are available.
	TenantPhaseActive TenantPhase = "Active"
	// TenantPhaseDegraded: available, with warnings in condition Degraded.
	TenantPhaseDegraded TenantPhase = "Degraded"
	// TenantPhaseFailed: somebody must act, see condition Ready.
	TenantPhaseFailed TenantPhase = "Failed"
)

// TenantPhase is the state of a MaasTenantConfig in one word.
// +kubebuilder:validation:Enum=Pending;Active;Degraded;Failed
type TenantPhase string
