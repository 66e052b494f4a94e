// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import "net/http"

const (
	// HeaderRequestID names the header that carries the id of a request.
	HeaderRequestID = "X-Request-Id"

	maxRequestID = 128
)

// requestID returns the id that the client or the gateway gave, or makes one when
// there is none, or none that is safe to repeat.
func requestID(r *http.Request, newID func() string) string {
	if values := r.Header[HeaderRequestID]; len(values) == 1 && validRequestID(values[0]) {
		return values[0]
	}
	return newID()
}

// validRequestID accepts 1 to 128 letters, digits, dots, underscores and dashes.
func validRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
