// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenantstatus decides what the status of a MaasTenantConfig says: phase,
// conditions and their words. It is pure and total: equal facts give equal text, so
// a status is rewritten only when something changed. It reads nothing and decides
// nothing about objects.
package tenantstatus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Halt is why the tenant's services were not evaluated.
type Halt struct {
	// Ready, Reason and Message are what condition Ready says. An empty Ready means
	// that there is no halt.
	Ready   metav1.ConditionStatus
	Reason  v1alpha1.ConditionReason
	Message string
	// Phase is the tenant's; ignored with Keep.
	Phase v1alpha1.TenantPhase
	// Keep leaves the phase and the other conditions as they were: something could
	// not be read, and what was known may still hold.
	Keep bool
	// Idle removes the other conditions: there is nothing they could tell.
	Idle bool
}

// Warning is something that somebody should look at while the tenant works.
type Warning struct {
	Reason  v1alpha1.ConditionReason
	Message string
}

// Prerequisites are what the administrator provides.
type Prerequisites struct {
	// Blocking is what is missing and keeps the tenant from working, Warnings what is
	// missing and does not. Full sentences.
	Blocking, Warnings []string
}

// Failure is why the tenant's services could not be written.
type Failure struct {
	// Reason is that of Ready; empty means that there is no failure.
	Reason  v1alpha1.ConditionReason
	Message string
}

// Observation is what is known of something that was written.
type Observation struct {
	// State is True when it does its work, False when somebody must act, Unknown while
	// it only needs time.
	State metav1.ConditionStatus
	// Message says what is wrong or waited for.
	Message string
	// Passing says of an Unknown state that it ends by itself, soon, one way or the
	// other.
	Passing bool
}

// Facts is everything the status depends on.
type Facts struct {
	// Generation is the object's.
	Generation int64
	// Phase and Previous are the status so far.
	Phase    v1alpha1.TenantPhase
	Previous []metav1.Condition

	// Halt ends the evaluation before everything below.
	Halt Halt
	// MissingAPIs are the names of the CustomResourceDefinitions that the tenant needs
	// and the cluster does not serve.
	MissingAPIs []string
	// Prerequisites are what the administrator provides.
	Prerequisites Prerequisites
	// Warnings are those beside the prerequisites, in a fixed order.
	Warnings []Warning
	// Failure ends the evaluation before what follows.
	Failure Failure
	// Deployment, Route and Policies are what became of what was written.
	Deployment, Route, Policies Observation
	// Closed says why the route leads nowhere yet, or not everywhere; empty when it does.
	Closed string
}

// Verdict is what the status says.
type Verdict struct {
	Phase v1alpha1.TenantPhase
	// Conditions are those to set, in a fixed order; the transition times are not set.
	Conditions []metav1.Condition
	// Removed are the types of conditions that no longer say anything.
	Removed []v1alpha1.ConditionType
}
