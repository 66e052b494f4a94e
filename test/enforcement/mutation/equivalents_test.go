// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"slices"
	"strings"
)

// twins are the rules that refuse the same requests as another one, for another reason:
// a request passes only when all of them are missing. Rules are those of Mutants.
func twins(policy, rule string) []string {
	if policy == "model" {
		return modelTwins[rule]
	}
	return nil
}

var modelTwins = map[string][]string{
	// Nobody has a subscription chosen who is not known by a name that somebody vouches
	// for.
	"authorization/auth-valid":   {"metadata/subscription-info/when"},
	"authorization/auth-valid/1": {"metadata/subscription-info/when"},
	"authorization/auth-valid/2": {"metadata/subscription-info/when"},
}

// equivalent is why nothing can be different without a rule; empty if there is no
// reason.
func equivalent(policy, rule string) string {
	if _, operand, found := strings.Cut(rule, ": "); found && slices.Contains(guards, operand) {
		return "without the field the next operand is an error, which denies as well"
	}
	for _, e := range equivalents {
		if (e.policy == "" || e.policy == policy) && strings.HasPrefix(rule, e.rule) {
			return e.why
		}
	}
	return ""
}

// guards are the operands behind which another one reads the field.
var guards = []string{"has(s.accessAllowed)", "has(s.name)", "has(s.phase)", "has(s.resolvedModel)"}

// equivalents are rules that change nothing which a caller, a model or telemetry could
// see, by the beginnings of their names.
var equivalents = []struct{ policy, rule, why string }{
	{"", "response/unauthenticated/code", "401 is what Authorino answers anyway"},
	{"", "response/unauthorized/code", "403 is what Authorino answers anyway"},
	{"", "response/unauthorized/headers", "text/plain is what a gateway says of such a text anyway"},
	{"", "authentication/oidc-identities/when", "what is no token of a provider is none without the condition either; it is not even looked at"},
	{"", "metadata/apiKeyValidation/when", "the answer about a key that is none is that it is not valid, which nobody looks at; the condition saves the question"},
}
