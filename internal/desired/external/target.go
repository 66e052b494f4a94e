// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import "strings"

// harmless are the characters of a target, beside letters and digits of ASCII, that mean
// nothing to anybody who puts it between quotes.
const harmless = " ._:/@+~-"

// Addressable tells whether requests can name a target in a header. Kuadrant puts the
// value into an expression as it is, between quotes: a quote or a backslash would change
// what the expression of this model, or that of the whole Gateway, says. The pattern of
// the field says the same; objects of earlier releases are older than it.
func Addressable(target string) bool {
	for _, r := range target {
		if !alphanumeric(r) && !strings.ContainsRune(harmless, r) {
			return false
		}
	}
	return target != "" && strings.TrimSpace(target) == target
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
