// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
)

const (
	// maxPredicate bounds a predicate, in code points. cel-go refuses
	// expressions of 100000.
	maxPredicate = 50_000
	// maxLimits bounds what all limits of a policy add to its JSON, in bytes. With
	// full annotations the object stays below maxObject.
	maxLimits = 768 << 10
	// limitOverhead is what a limit adds to that beside its name, rates and
	// clauses, rounded up.
	limitOverhead = 384
	// rateOverhead is what a rate adds beside its numbers.
	rateOverhead = 32
)

// fit leaves out the members that have no room in their limit or in the policy:
// the newest, so that whoever has a quota keeps it. A limit without members
// disappears. The total is what the limits weigh together.
func fit(planned []plannedLimit) (kept []plannedLimit, total int, overflow []member, err error) {
	type candidate struct {
		member
		limit int
	}
	var all []candidate
	for i, p := range planned {
		for _, m := range p.members {
			all = append(all, candidate{m, i})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.order(b.member) })
	predicates := make([]int, len(planned))
	for _, c := range all {
		p := &planned[c.limit]
		points, bytes, err := clauseSize(c.member, p.asList())
		if err != nil {
			return nil, 0, nil, err
		}
		if len(p.kept) == 0 {
			predicates[c.limit] = len(notDiscovery) + len(idProperty) + len(keyProperty) + len("( in [] ||  in []) && ")
			bytes += limitOverhead + quotedSize(p.name) + len(c.set.Rates)*rateOverhead
		}
		if predicates[c.limit]+points > maxPredicate || total+bytes > maxLimits {
			// Whoever comes later does not fit either, however short the name is: who
			// is left out must not depend on it.
			predicates[c.limit] = maxPredicate
			if total+bytes > maxLimits {
				total = maxLimits
			}
			overflow = append(overflow, c.member)
			continue
		}
		predicates[c.limit] += points
		total += bytes
		p.kept = append(p.kept, c.member)
	}
	return slices.DeleteFunc(planned, func(p plannedLimit) bool { return len(p.kept) == 0 }), total, overflow, nil
}

// clauseSize is what a member adds to its predicate, in code points, and to the
// policy, in bytes of JSON.
func clauseSize(m member, asList bool) (points, bytes int, err error) {
	literal, err := celtext.String(m.id)
	if err != nil {
		return 0, 0, fmt.Errorf("quote the key of subscription %s: %w", m.key, err)
	}
	separator := len(", ")
	if !asList {
		separator = len(keyProperty) + len(" ==  || ")
	}
	return len(literal) + separator, quotedSize(literal) + separator, nil // A literal is ASCII.
}
