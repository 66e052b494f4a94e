// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apperr holds the domain errors that reconcilers translate into
// conditions. An error says three things: whose move it is (the user's, a
// dependency's, or ours to try again), which documented reason describes it, and
// what a person reading the status should do. The package knows nothing of
// Kubernetes clients and must not decide on retries: callers do, with errors.As.
package apperr

import (
	"errors"
	"fmt"
	"slices"
)

// UserError means that the object is wrong as written: trying again without an
// edit cannot help. Reconcilers report it and wait for the next event.
type UserError struct {
	// Reason is the condition reason, one of the constants of the api package.
	Reason string
	// Message is a full sentence that names the field and the remedy.
	Message string
}

// Error implements error.
func (e *UserError) Error() string { return e.Reason + ": " + e.Message }

// User returns an error that only an edit of the object can resolve.
func User[R ~string](reason R, message string) error {
	return &UserError{Reason: string(reason), Message: message}
}

// Userf is User with a formatted message.
func Userf[R ~string](reason R, format string, args ...any) error {
	return &UserError{Reason: string(reason), Message: fmt.Sprintf(format, args...)}
}

// BlockedError means that something else has to appear or change first. A watch
// on that dependency wakes the reconciler up; a timed retry is not needed.
type BlockedError struct {
	// Reason is the condition reason, one of the constants of the api package.
	Reason string
	// Dependency says what is missing, as a person would name it.
	Dependency string
}

// Error implements error.
func (e *BlockedError) Error() string { return e.Reason + ": waiting for " + e.Dependency }

// Blocked returns an error that lasts until the named dependency changes.
func Blocked[R ~string](reason R, dependency string) error {
	return &BlockedError{Reason: string(reason), Dependency: dependency}
}

// UncheckedError means that a fact could not be established: the answer is
// unknown, which is neither "yes" nor "no". Reconcilers report Unknown and let
// the work queue try again.
type UncheckedError struct {
	// Reason is the condition reason, one of the constants of the api package.
	Reason string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *UncheckedError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *UncheckedError) Unwrap() error { return e.Err }

// Unchecked wraps an error that prevented a fact from being established. A nil
// cause yields nil.
func Unchecked[R ~string](reason R, err error) error {
	if err == nil {
		return nil
	}
	return &UncheckedError{Reason: string(reason), Err: err}
}

// AsUser returns the UserError in err's tree, if there is one.
func AsUser(err error) (*UserError, bool) { return errors.AsType[*UserError](err) }

// AsBlocked returns the BlockedError in err's tree, if there is one.
func AsBlocked(err error) (*BlockedError, bool) { return errors.AsType[*BlockedError](err) }

// AsUnchecked returns the UncheckedError in err's tree, if there is one.
func AsUnchecked(err error) (*UncheckedError, bool) { return errors.AsType[*UncheckedError](err) }

// Retryable reports whether trying again without any event may succeed: true for
// every error that is neither the user's nor a dependency's to resolve. A joined
// error is retryable as soon as one of its members is.
func Retryable(err error) bool {
	if err == nil {
		return false
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), Retryable)
	}
	if _, ok := err.(*UserError); ok { //nolint:errorlint // The tree is walked here, one node at a time.
		return false
	}
	if _, ok := err.(*BlockedError); ok { //nolint:errorlint // The tree is walked here, one node at a time.
		return false
	}
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return Retryable(wrapped)
	}
	return true
}
