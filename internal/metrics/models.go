// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// policies is what is known of the policies of one model.
type policies struct {
	gateway types.NamespacedName
	// authPolicy and limitPolicy are sizes in bytes; zero without the policy.
	authPolicy, limitPolicy int
	// subjects are those of the model, predicate is the length of the longest.
	subjects, predicate int
	// limits is the number of limits, members that of all their members, and
	// largest that of the limit with the most.
	limits, members, largest int
}

// SetPolicies takes note of the policies of a model that are in place on the
// routes of a gateway, as weighed by [model.Sizes.Weigh]. What an object of size
// zero would hold does not count.
func (m *Metrics) SetPolicies(key, gateway types.NamespacedName, sizes model.Sizes) {
	if m == nil {
		return
	}
	p := policies{gateway: gateway, authPolicy: sizes.AuthPolicy.Bytes, limitPolicy: sizes.TokenRateLimitPolicy.Bytes}
	if p.authPolicy > 0 {
		p.subjects = sizes.Subjects
	}
	if p.limitPolicy > 0 {
		p.limits = len(sizes.Limits)
		for _, limit := range sizes.Limits {
			p.members += limit.Members
			p.largest = max(p.largest, limit.Members)
			p.predicate = max(p.predicate, limit.CodePoints)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.authPolicy == 0 && p.limitPolicy == 0 {
		delete(m.models, key)
		return
	}
	m.models[key] = p
}

// ForgetPolicies is called when a model is gone, or has no policies any more.
func (m *Metrics) ForgetPolicies(key types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.models, key)
}

// kindSum and gatewaySum add up the policies of models.
type (
	kindSum    struct{ objects, bytes, largest int }
	gatewaySum struct{ policies, limits, bytes int }
)

func (s *kindSum) add(bytes int) {
	if bytes > 0 {
		s.objects++
		s.bytes += bytes
		s.largest = max(s.largest, bytes)
	}
}

// modelSamples are the gauges of generated policies; the mutex is held.
func (m *Metrics) modelSamples() []sample {
	var auth, limit kindSum
	var most policies
	gateways := map[types.NamespacedName]gatewaySum{}
	for _, p := range m.models {
		auth.add(p.authPolicy)
		limit.add(p.limitPolicy)
		most.limits += p.limits
		most.members += p.members
		most.largest = max(most.largest, p.largest)
		most.predicate = max(most.predicate, p.predicate)
		most.subjects = max(most.subjects, p.subjects)
		g := gateways[p.gateway]
		for _, bytes := range []int{p.authPolicy, p.limitPolicy} {
			g.policies += min(bytes, 1)
		}
		g.limits += p.limits
		g.bytes += p.authPolicy + p.limitPolicy
		gateways[p.gateway] = g
	}
	out := slices.Grow([]sample{
		{limitSets, nil, float64(most.limits)},
		{limitSetMembers, nil, float64(most.members)},
		{limitSetLargest, nil, float64(most.largest)},
		{predicateLargest, nil, float64(most.predicate)},
		{subjectsLargest, nil, float64(most.subjects)},
	}, 6+3*len(gateways))
	for kind, sum := range map[string]kindSum{kuadrant.AuthPolicy.Kind: auth, kuadrant.TokenRateLimitPolicy.Kind: limit} {
		out = append(out, sample{generatedObjects, []string{kind}, float64(sum.objects)},
			sample{generatedBytes, []string{kind}, float64(sum.bytes)}, sample{generatedLargestBytes, []string{kind}, float64(sum.largest)})
	}
	for _, key := range slices.SortedFunc(maps.Keys(gateways), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) }) {
		labels, sum := []string{key.Namespace, key.Name}, gateways[key]
		out = append(out, sample{gatewayPolicies, labels, float64(sum.policies)}, sample{gatewayLimits, labels, float64(sum.limits)}, sample{gatewayBytes, labels, float64(sum.bytes)})
	}
	return out
}
