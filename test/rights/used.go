// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"net/http"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// Used are the rights that requests needed. An apply that creates an object needs the
// right to create it besides the one to patch it, and is logged as a patch. Whoever
// streams a list through a watch needs the right to list all the same, for servers that
// cannot do that. A request that was refused for want of a right needed it too.
func Used(events []audit.Event) []Right {
	var out []Right
	for _, e := range events {
		if e.Resource == "" || strings.HasPrefix(e.Resource, "selfsubject") {
			continue // Discovery, and what one may oneself: everybody may ask that.
		}
		right := Right{Group: e.APIGroup, Resource: e.Resource, Verb: e.Verb, Name: e.Name, Namespace: e.Namespace}
		if e.Subresource != "" {
			right.Resource += "/" + e.Subresource
		}
		out = append(out, right)
		switch {
		case e.Verb == audit.VerbPatch && e.Code == http.StatusCreated:
			right.Verb = audit.VerbCreate
			out = append(out, right)
		case e.Verb == audit.VerbWatch:
			right.Verb = audit.VerbList
			out = append(out, right)
		}
	}
	return sorted(out)
}

// Idle are the held rights that cover nothing needed.
func Idle(held, needed []Right) []Right {
	return slices.DeleteFunc(slices.Clone(held), func(have Right) bool { return slices.ContainsFunc(needed, have.Covers) })
}

// Repeated are the held rights that another one covers.
func Repeated(held []Right) []Right {
	var out []Right
	for i, right := range held {
		for j, other := range held {
			if i != j && other.Covers(right) {
				out = append(out, right)
				break
			}
		}
	}
	return sorted(out)
}
