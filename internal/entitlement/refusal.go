// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import "github.com/opendatahub-io/maas-operator/api/v1alpha1"

// Code says why a caller is refused. The words are part of the contract of the
// selection callback.
type Code string

// Codes of refusals.
const (
	// CodeBadRequest: the request names nobody, or a subscription in a way that
	// cannot be read.
	CodeBadRequest Code = "bad_request"
	// CodeNotFound: the caller owns no subscription that includes the model.
	CodeNotFound Code = "not_found"
	// CodeAccessDenied: the requested subscription does not exist or is not the
	// caller's; which of the two is nobody's business.
	CodeAccessDenied Code = "access_denied"
	// CodeMultipleSubscriptions: the caller owns several and names none.
	CodeMultipleSubscriptions Code = "multiple_subscriptions"
	// CodeModelNotInSubscription: the caller owns the requested subscription, which
	// does not include the model.
	CodeModelNotInSubscription Code = "model_not_in_subscription"
	// CodeModelUnhealthy: the subscription, or its entry for the model, is not in
	// force.
	CodeModelUnhealthy Code = "model_unhealthy"
)

// Refusal is why a caller gets nothing. Every error of this package's decisions
// about callers is one; use errors.As to get at it.
type Refusal struct {
	// Code is the documented word.
	Code Code
	// Message is for the caller. It holds nothing of the request and names no
	// object.
	Message string
	// Phase is the subscription's, with [CodeModelUnhealthy].
	Phase v1alpha1.Phase
}

// Error is the message.
func (r Refusal) Error() string { return r.Message }

// Messages of refusals. Those of the selection callback's contract keep its
// words.
const (
	noUsername        = "username is required"
	systemUsername    = "names of users from an external identity provider must not start with system:"
	unboundKey        = "API key has no subscription bound: create a new key"
	badName           = "the requested subscription is no name: write <name> or <namespace>/<name>"
	noSubscription    = "no matching subscription found for user"
	notYours          = "access denied to requested subscription"
	several           = "user has access to multiple subscriptions, must specify subscription using X-MaaS-Subscription header"
	ambiguous         = "several subscriptions have the requested name: write <namespace>/<name>"
	modelNotIncluded  = "subscription does not include the requested model"
	deleting          = "subscription is being deleted"
	modelMissing      = "the model of the subscription does not exist"
	modelDeleting     = "the model of the subscription is being deleted"
	modelWithoutRoute = "another model has the policies of the model's HTTPRoute: each model needs a route of its own"
	entryLeftOut      = "the subscription's entry for the model is not in force: its status says why"
	limitsNotReady    = "subscription rate limiting policies are not ready"
)
