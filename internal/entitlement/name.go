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

// nameOf tells whether text is a label, or several with dots between them where
// dots are allowed.
func nameOf(text string, longest int, dots bool) bool {
	if len(text) > longest || !dots && strings.Contains(text, ".") {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if !label(part) {
			return false
		}
	}
	return true
}

// label tells whether text is made of lower case letters, digits and inner
// hyphens.
func label(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case c == '-' && i > 0 && i < len(text)-1:
		default:
			return false
		}
	}
	return text != ""
}
