// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelstatus decides what the status of a MaaSModelRef says: phase,
// conditions and their words. It is pure, total and free of order: equal facts
// give equal text, so a status is rewritten only when something changed. No
// message names a policy or a subscription: whoever may read a model need not know
// who uses it.
package modelstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
)

// BackendState is what is known of the object that serves a model.
type BackendState int

const (
	// BackendUnsupported means that the kind is not one this operator publishes.
	BackendUnsupported BackendState = iota
	// BackendNotInstalled means that the cluster does not serve the kind.
	BackendNotInstalled
	// BackendMissing means that the object does not exist.
	BackendMissing
	// BackendNotReady means that the object exists and cannot answer.
	BackendNotReady
	// BackendReady means that the object can answer requests that reach it.
	BackendReady
)

// Backend is the object that serves a model.
type Backend struct {
	// Kind and Name are as in spec.modelRef.
	Kind v1alpha1.BackendKind
	Name string
	// State is what is known of it.
	State BackendState
	// Reason and Message are the backend's own words when it complains, which it may
	// do although it can answer.
	Reason, Message string
}

// Tenant is the tenant of a model.
type Tenant struct {
	// Problem says why the tenant cannot be told, with its Reason; empty if it can.
	Reason, Problem string
	// Gateway is the tenant's.
	Gateway types.NamespacedName
}

// Governance tells which halves of a model's governance exist in its tenant.
type Governance struct {
	// Granted: at least one MaaSAuthPolicy refers to the model.
	Granted bool
	// Subscribed: at least one MaaSSubscription refers to the model.
	Subscribed bool
}

// Identity is the model's name in request bodies, and who else has it.
type Identity struct {
	// Alias is the name; empty when it is not known.
	Alias string
	// Siblings are the other MaaSModelRefs of the namespace with the alias.
	Siblings []string
}

// Facts is everything a status depends on.
type Facts struct {
	// Generation is the model's.
	Generation int64
	// Namespace is the model's.
	Namespace string
	// SpecMissing: the stored object has no spec.
	SpecMissing bool
	// Override is spec.endpointOverride.
	Override string
	Tenant   Tenant
	Backend  Backend
	// Route is the model's route; its Object is nil when there is none.
	Route endpoint.Route
	// URLs are what the route and the backend offer.
	URLs       endpoint.URLs
	Governance Governance
	Identity   Identity
	// Previous are the conditions so far.
	Previous []metav1.Condition
}

// Verdict is what the status says.
type Verdict struct {
	Phase v1alpha1.ModelPhase
	// Endpoint and BaseURL are empty unless the phase is Ready.
	Endpoint, BaseURL string
	// Conditions are the evaluated ones, in a fixed order. The transition times are
	// not set.
	Conditions []metav1.Condition
}
