// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"net/http"
	"strconv"
)

// Class is the "type" of an error of the family that follows OpenAI's API.
type Class string

// The classes of [WriteTyped].
const (
	ClassAuthentication Class = "authentication_error"
	ClassPermission     Class = "permission_error"
	ClassInvalidRequest Class = "invalid_request_error"
	ClassServer         Class = "server_error"
)

// Family names the form of error bodies that the clients of a route expect.
type Family int

// The families. The zero value is the one of the API-key routes.
const (
	// FamilyFlat is {"error": text}: see [WriteError] and [WriteCoded].
	FamilyFlat Family = iota
	// FamilyTyped is {"error": {"message": text, "type": class}}: see [WriteTyped].
	FamilyTyped
	// FamilyDetailed is {"error": text, "details": text}: see [WriteDetailed].
	FamilyDetailed
	// FamilyDecision is {"error": code, "message": text}, the form in which the
	// callbacks of the gateway refuse.
	FamilyDecision
)

type flatError struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"`
}

type typedError struct {
	Error typedDetail `json:"error"`
}

type typedDetail struct {
	Message string `json:"message"`
	Type    Class  `json:"type"`
}

type authFailure struct {
	Error         string `json:"error"`
	ExceptionCode string `json:"exceptionCode"`
	RefID         string `json:"refId"`
}

type detailedError struct {
	Error   string `json:"error"`
	Details string `json:"details"`
}

type decisionError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// WriteError writes {"error": message}, the family of the API-key routes. The
// message reaches the client: it must be safe to show.
func WriteError(w http.ResponseWriter, status int, message string) {
	WriteJSON(w, status, flatError{Error: message})
}

// WriteCoded is [WriteError] with a code that programs can tell causes apart by.
func WriteCoded(w http.ResponseWriter, status int, message, code string) {
	WriteJSON(w, status, flatError{Error: message, Code: code})
}

// WriteTyped writes {"error": {"message": message, "type": class}}, the family
// of the model and subscription listings.
func WriteTyped(w http.ResponseWriter, status int, message string, class Class) {
	WriteJSON(w, status, typedError{Error: typedDetail{Message: message, Type: class}})
}

// The references of [WriteAuthFailure].
const (
	RefUsername     = "001" // The user name is missing, blank or ambiguous.
	RefGroups       = "002" // The list of groups is missing.
	RefGroupsSyntax = "003" // The list of groups cannot be read.
)

// WriteAuthFailure answers 500 for a request that came without the identity
// that the gateway adds to every request it lets through. It is no 401, because
// the gateway's policy is at fault and not the caller.
func WriteAuthFailure(w http.ResponseWriter, ref string) {
	WriteJSON(w, http.StatusInternalServerError, authFailure{
		Error:         "The gateway passed no usable identity for this request",
		ExceptionCode: "AUTH_FAILURE",
		RefID:         ref,
	})
}

// WriteDetailed writes {"error": message, "details": details}, the family of
// the tenants route.
func WriteDetailed(w http.ResponseWriter, status int, message, details string) {
	WriteJSON(w, status, detailedError{Error: message, Details: details})
}

// WriteFamily writes an error in the given family. The class of a typed error
// and the code of a decision follow from the status.
func WriteFamily(w http.ResponseWriter, family Family, status int, message string) {
	switch family {
	case FamilyTyped:
		WriteTyped(w, status, message, classOf(status))
	case FamilyDetailed:
		WriteDetailed(w, status, http.StatusText(status), message)
	case FamilyDecision:
		code := "bad_request"
		if status >= http.StatusInternalServerError {
			code = "internal_error"
		}
		WriteJSON(w, status, decisionError{Error: code, Message: message})
	default:
		WriteError(w, status, message)
	}
}

// WriteTooLarge answers 413 for a body of more than limit bytes.
func WriteTooLarge(w http.ResponseWriter, family Family, limit int64) {
	WriteFamily(w, family, http.StatusRequestEntityTooLarge,
		"The request body is larger than "+strconv.FormatInt(limit, 10)+" bytes")
}

func classOf(status int) Class {
	switch {
	case status == http.StatusUnauthorized:
		return ClassAuthentication
	case status == http.StatusForbidden:
		return ClassPermission
	case status >= http.StatusInternalServerError:
		return ClassServer
	default:
		return ClassInvalidRequest
	}
}
