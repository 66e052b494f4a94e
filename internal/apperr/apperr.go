// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apperr holds the domain errors that reconcilers translate into
// conditions. An error says whose move it is (the user's, or ours to try again),
// which documented reason describes it, and what a person reading the status should
// do. The package knows nothing of
// Kubernetes clients and must not decide on retries: callers do, with errors.As.
package apperr

import (
	"errors"
	"fmt"
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

// AsUnchecked returns the UncheckedError in err's tree, if there is one.
func AsUnchecked(err error) (*UncheckedError, bool) { return errors.AsType[*UncheckedError](err) }
