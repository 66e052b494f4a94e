// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"iter"
	"maps"
	"slices"
)

// Group are cases about one thing.
type Group struct {
	About string
	Cases []Case
}

// Groups are all cases, in an order to read them in.
func Groups() []Group {
	return []Group{
		{"API keys at models", keys()},
		{"API keys in a header of their own", slices.Concat(keysInTheirHeader(), keysInBothHeaders())},
		{"tokens of the cluster at models", slices.Concat(clusterTokens(), noTokens())},
		{"tokens of providers at models", providerTokens()},
		{"subscriptions and who owns them", slices.Concat(choices(), uselessChoices(), withoutSubscription())},
		{"models whose paths begin alike", prefixes()},
		{"identities that the client claims itself", forged()},
		{"names that are made to break something", hostile()},
		{"callers of maas-api", serviceCases()},
		{"maas-api while it does not answer as it should", callbackCases()},
		{"what no policy of its own is for", defaults()},
		{"paths that look like others", paths()},
	}
}

// All are all cases.
func All() []Case {
	var all []Case
	for _, g := range Groups() {
		all = slices.Concat(all, g.Cases)
	}
	return all
}

// inOrder goes through a map by its keys, so that cases are always in the same order.
func inOrder[V any](all map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !yield(name, all[name]) {
				return
			}
		}
	}
}
