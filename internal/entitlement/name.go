// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Bounds of the parts of a subscription's name.
const (
	maxNamespace = 63
	maxName      = 253
)

// ParseName reads the name of a subscription as callers and keys write it:
// <name> or <namespace>/<name>. The namespace of a bare name is empty: it may be
// any of the tenant's. What cannot be a name in Kubernetes is refused.
func ParseName(text string) (types.NamespacedName, error) {
	namespace, name, qualified := strings.Cut(text, "/")
	if !qualified {
		namespace, name = "", text
	}
	if qualified && !nameOf(namespace, maxNamespace, false) || !nameOf(name, maxName, true) {
		return types.NamespacedName{}, Refusal{Code: CodeBadRequest, Message: badName}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// nameOf tells whether text is made of lower case letters, digits and inner
// hyphens, and of several such parts where dots are allowed.
func nameOf(text string, longest int, dots bool) bool {
	if text == "" || len(text) > longest {
		return false
	}
	edge := true // At the start of a part, where no hyphen may stand.
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			edge = false
		case c == '-' && !edge && text[min(i+1, len(text)-1)] != '.':
		case c == '.' && dots && !edge:
			edge = true
		default:
			return false
		}
	}
	return !edge && text[len(text)-1] != '-'
}
