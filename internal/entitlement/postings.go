// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"slices"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// postings find numbered objects by the users and groups they name. Numbers are
// added in ascending order, so every list is sorted.
type postings struct {
	users, groups map[string][]int32
}

func newPostings() postings {
	return postings{users: map[string][]int32{}, groups: map[string][]int32{}}
}

func (p postings) add(number int32, users []string, groups []v1alpha1.GroupReference) {
	for _, user := range users {
		post(p.users, user, number)
	}
	for _, group := range groups {
		post(p.groups, group.Name, number)
	}
}

func post(lists map[string][]int32, name string, number int32) {
	if list := lists[name]; len(list) == 0 || list[len(list)-1] != number {
		lists[name] = append(list, number)
	}
}

// of returns the numbers that the i-th of the caller's subjects finds.
func (p postings) of(c Caller, i int) []int32 {
	if i == 0 {
		return p.users[c.username]
	}
	return p.groups[c.groups[i-1]]
}

// holds tells whether the caller finds the number.
func (p postings) holds(c Caller, number int32) bool {
	for i := range c.subjects() {
		if _, found := slices.BinarySearch(p.of(c, i), number); found {
			return true
		}
	}
	return false
}

// each visits what the caller finds among the numbers, which are sorted, until
// visit returns false. A number that several subjects find is visited again.
func (p postings) each(c Caller, among []int32, visit func(int32) bool) {
	for i := range c.subjects() {
		if !common(p.of(c, i), among, visit) {
			return
		}
	}
}

// common visits what two sorted lists share, in ascending order, until visit
// returns false. It takes time by the shorter one.
func common(a, b []int32, visit func(int32) bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for _, number := range a {
		at, found := slices.BinarySearch(b, number)
		if found && !visit(number) {
			return false
		}
		b = b[at:]
	}
	return true
}

// any tells whether the caller finds one of the numbers.
func (p postings) any(c Caller, among []int32) bool {
	found := false
	p.each(c, among, func(int32) bool {
		found = true
		return false
	})
	return found
}
