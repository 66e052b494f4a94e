// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import "errors"

// Kind says whose move it is after a flow did not do what was asked.
type Kind int

// Kinds of errors. The zero Kind is the service's own fault.
const (
	// KindInternal: something the service needs failed. The caller can do nothing
	// about it but try again.
	KindInternal Kind = iota
	// KindInvalid: the request breaks a rule.
	KindInvalid
	// KindForbidden: the caller may not do this.
	KindForbidden
	// KindNotFound: there is no such key, or it is none of the caller's business.
	KindNotFound
	// KindUnavailable: the service cannot decide just now, for a reason that goes
	// away by itself.
	KindUnavailable
)

// Codes of errors, for programs. Most errors have none.
const (
	// CodeInvalidSubscription: there is no subscription that the key could be
	// bound to, for a reason that is not told apart any further.
	CodeInvalidSubscription = "invalid_subscription"
	// CodeSubscriptionNotReady: the subscription is in a state that allows no new
	// keys.
	CodeSubscriptionNotReady = "subscription_not_ready"
	// CodeInvalidGroup: a group of the caller has a name that cannot be passed on.
	CodeInvalidGroup = "invalid_group"
	// CodeKeyLimitReached: the caller has as many active keys as a user may have.
	CodeKeyLimitReached = "key_limit_reached"
	// CodeInvalidKey: the key a caller comes with is not the caller's, or no longer
	// valid.
	CodeInvalidKey = "invalid_key"
	// CodeOutlivesKey: the new key would outlive the one it is made with.
	CodeOutlivesKey = "outlives_key"
	// CodeInvalidCursor: the cursor is none of ours, or belongs to another search.
	CodeInvalidCursor = "invalid_cursor"
	// CodeNotReady: the service has not loaded the subscriptions yet, or is about
	// to end.
	CodeNotReady = "not_ready"
)

// Error is why a flow of [Service] did not do what was asked. Every error of its
// methods is one; use errors.As to get at it.
type Error struct {
	Kind Kind
	// Message is for the caller. It holds nothing of the cause.
	Message string
	// Code is for the caller's program; it may be empty.
	Code string

	cause error
}

// Error is the message and, for logs, the cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the cause, which is nil unless something of ours failed.
func (e *Error) Unwrap() error { return e.cause }

func invalid(message string) error { return &Error{Kind: KindInvalid, Message: message} }

// errForeign tells logs what the caller is not told: the key exists.
var errForeign = errors.New("the caller is neither the owner of the key nor an administrator")

// keyNotFound is one answer to keys that do not exist and to those of others.
func keyNotFound(cause error) error {
	return &Error{Kind: KindNotFound, Message: "API key not found", cause: cause}
}

func forbidden(message string) error { return &Error{Kind: KindForbidden, Message: message} }

// failure says that something of ours failed, in the words of the contract.
func failure(message string, cause error) error {
	if errors.Is(cause, ErrTenantReplaced) {
		return &Error{
			Kind: KindUnavailable, Code: CodeNotReady, cause: cause,
			Message: "This service belonged to a tenant that has been replaced: try again in a moment",
		}
	}
	return &Error{Kind: KindInternal, Message: message, cause: cause}
}
