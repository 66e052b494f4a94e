// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"net/http"
	"strings"
)

// gatewayMarked tells whether a request carries what only a gateway adds: the
// identity headers of its policy, the path before its rewrite, or the address of
// its client. Such a request came from outside and must not reach an internal
// route.
func gatewayMarked(h http.Header) bool {
	for name := range h {
		switch {
		case hasPrefixFold(name, "X-Maas-"),
			strings.EqualFold(name, "X-Envoy-Original-Path"),
			strings.EqualFold(name, "X-Forwarded-For"):
			return true
		}
	}
	return false
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
