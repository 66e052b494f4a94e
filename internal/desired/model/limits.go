// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	// idProperty and keyProperty are what the AuthPolicy exposes about the
	// selected subscription.
	idProperty  = "auth.identity.selected_subscription_id"
	keyProperty = "auth.identity.selected_subscription_key"
	// userProperty keeps the users of one subscription apart.
	userProperty = "auth.identity.userid"

	// notDiscovery exempts listing models. It tests the path without the
	// query: a suffix test on the whole path would exempt every inference
	// request that ends in ?x=/v1/models. It tests the method, as a server may
	// leave out what follows a semicolon: …/v1/chat/completions;/v1/models.
	notDiscovery = `!(request.method == "GET" && request.url_path.endsWith("/v1/models"))`

	// shortSuffix names the limit of the short members beside a legacy group
	// of the same rates; legacySuffix that of legacy members who come to a short
	// group, when they take its rates.
	shortSuffix  = "-id"
	legacySuffix = "-key"

	// maxAlternatives is the number of members up to which a predicate is
	// written with ||; above it uses the in operator.
	maxAlternatives = 64
)

// member is one subscription's valid entry for the model.
type member struct {
	key     types.NamespacedName
	created time.Time
	set     entitlement.RateSet
	legacy  bool
	// id is what the member's clause compares with: the short id, or the
	// model-scoped key of a legacy member.
	id string
}

// order sorts members by age, then name: the newest are left out first.
func (m member) order(other member) int {
	return cmp.Or(m.created.Compare(other.created), cmp.Compare(m.key.String(), other.key.String()))
}

// plannedLimit is a limit before its predicate is written.
type plannedLimit struct {
	name     string
	members  []member
	counters []string
	// kept are the members that fit, sorted by age.
	kept []member
}

// asList tells whether the predicate is written with the in operator.
func (p plannedLimit) asList() bool { return len(p.members) > maxAlternatives }

// limits groups the members by rate set. What lives in the cluster keeps a -id
// suffix once given. The last result are members whose clause no longer fits.
func limits(members []member, live Live) (written []values.TokenLimit, sizes Sizes, overflow []member, err error) {
	planned, total, overflow, err := fit(plan(members, live))
	if err != nil {
		return nil, Sizes{}, nil, err
	}
	sizes.LimitBytes, sizes.LeftOut = total, len(overflow)
	for _, p := range planned {
		clause, err := membership(p.kept, p.asList())
		if err != nil {
			return nil, Sizes{}, nil, err
		}
		limit := values.TokenLimit{Name: p.name, Predicate: clause + " && " + notDiscovery, Counters: p.counters}
		for _, rate := range p.kept[0].set.Enforced() {
			limit.Rates = append(limit.Rates, values.TokenRate{Limit: rate.Limit, Window: rate.Window})
		}
		written = append(written, limit)
		sizes.Limits = append(sizes.Limits, LimitSize{Name: p.name, Members: len(p.kept), CodePoints: utf8.RuneCountInString(limit.Predicate)})
	}
	return written, sizes, overflow, nil
}

// plan names the limits, sorted. Legacy and short members of one rate set have
// different counters and so need a limit each. A name is part of a quota's
// counters, so a living limit keeps its name: whoever comes second gets a suffix
// and keeps it.
func plan(members []member, live Live) []plannedLimit {
	groups := map[string][]member{}
	for _, m := range members {
		groups[m.set.Name] = append(groups[m.set.Name], m)
	}
	var out []plannedLimit
	for name, group := range groups {
		if name == entitlement.UnlimitedName {
			out = append(out, plannedLimit{name: name, members: group})
			continue
		}
		legacy, short := split(group)
		ofLegacy, ofShort := live.nameOfLegacy(name, len(short) > 0), live.nameOfShort(name)
		if len(legacy) > 0 && ofLegacy == name {
			ofShort = name + shortSuffix
		}
		if len(legacy) > 0 {
			out = append(out, plannedLimit{name: ofLegacy, members: legacy, counters: []string{keyProperty, userProperty}})
		}
		if len(short) > 0 {
			out = append(out, plannedLimit{name: ofShort, members: short, counters: []string{idProperty, userProperty}})
		}
	}
	slices.SortFunc(out, func(a, b plannedLimit) int { return cmp.Compare(a.name, b.name) })
	return out
}

// nameOfShort is the name of the limit of the short members of a rate set,
// unless the legacy members have it.
func (l Live) nameOfShort(name string) string {
	if l.has(name + shortSuffix) {
		return name + shortSuffix
	}
	return name
}

// nameOfLegacy is the name of the limit of the legacy members of a rate set:
// its own, unless the short members were there first.
func (l Live) nameOfLegacy(name string, besideShort bool) string {
	if l.has(name+legacySuffix) || besideShort && l.ownedByShort(name) {
		return name + legacySuffix
	}
	return name
}

// ownedByShort tells whether a limit holds short members.
func (l Live) ownedByShort(name string) bool {
	return slices.ContainsFunc(l.Limits, func(limit kuadrant.Limit) bool {
		return limit.Name == name && strings.Contains(limit.Predicate, idProperty)
	})
}

func split(group []member) (legacy, short []member) {
	for _, m := range group {
		if m.legacy {
			legacy = append(legacy, m)
		} else {
			short = append(short, m)
		}
	}
	return legacy, short
}

// membership is the predicate that the selected subscription is one of the
// members.
func membership(group []member, asList bool) (string, error) {
	legacy, short := split(group)
	if asList {
		return oneOfLists(short, legacy)
	}
	clauses := make([]string, 0, len(group))
	for _, side := range []struct {
		property string
		members  []member
	}{{idProperty, short}, {keyProperty, legacy}} {
		for _, id := range ids(side.members) {
			literal, err := celtext.String(id)
			if err != nil {
				return "", fmt.Errorf("quote %q: %w", id, err)
			}
			clauses = append(clauses, side.property+" == "+literal)
		}
	}
	if len(clauses) == 1 {
		return clauses[0], nil
	}
	return "(" + strings.Join(clauses, " || ") + ")", nil
}

func oneOfLists(short, legacy []member) (string, error) {
	clauses := make([]string, 0, 2)
	for _, side := range []struct {
		property string
		members  []member
	}{{idProperty, short}, {keyProperty, legacy}} {
		if len(side.members) == 0 {
			continue
		}
		list, err := celtext.List(ids(side.members))
		if err != nil {
			return "", fmt.Errorf("quote members: %w", err)
		}
		clauses = append(clauses, side.property+" in "+list)
	}
	if len(clauses) == 1 {
		return clauses[0], nil
	}
	return "(" + strings.Join(clauses, " || ") + ")", nil
}

// ids are the members' identifiers, sorted and distinct.
func ids(members []member) []string {
	out := make([]string, 0, len(members))
	for _, m := range members {
		out = append(out, m.id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func memberOf(s *v1alpha1.MaaSSubscription, model types.NamespacedName, set entitlement.RateSet, identity v1alpha1.RateLimitIdentity) member {
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	m := member{key: key, created: s.CreationTimestamp.Time, set: set, id: entitlement.ModelScopedKey(key, model)}
	if identity == v1alpha1.RateLimitIdentityLegacy {
		m.legacy = true
		return m
	}
	m.id = entitlement.ShortID(m.id)
	return m
}
