// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"
	"time"
)

// The verbs of requests on resources.
const (
	VerbGet              = "get"
	VerbList             = "list"
	VerbWatch            = "watch"
	VerbCreate           = "create"
	VerbUpdate           = "update"
	VerbPatch            = "patch"
	VerbDelete           = "delete"
	VerbDeleteCollection = "deletecollection"
)

// Filter decides whether an event is wanted.
type Filter func(*Event) bool

// ByUser keeps what one of the users asked for.
func ByUser(users ...string) Filter {
	return func(e *Event) bool { return slices.Contains(users, e.User) }
}

// ByVerb keeps requests with one of the verbs.
func ByVerb(verbs ...string) Filter {
	return func(e *Event) bool { return slices.Contains(verbs, e.Verb) }
}

// ByResource keeps requests on a resource ("deployments") or a subresource
// ("deployments/status") of an API group. "deployments" alone includes its
// subresources; the group "" is the core group.
func ByResource(group, resource string) Filter {
	resource, subresource, only := strings.Cut(resource, "/")
	return func(e *Event) bool {
		return e.APIGroup == group && e.Resource == resource && (!only || e.Subresource == subresource)
	}
}

// InNamespace keeps requests on objects in a namespace.
func InNamespace(namespace string) Filter {
	return func(e *Event) bool { return e.Namespace == namespace }
}

// Named keeps requests on objects of that name. Creations have no name in the
// log when the client lets the server choose it.
func Named(name string) Filter {
	return func(e *Event) bool { return e.Name == name }
}

// Since keeps requests received at that time or later.
func Since(t time.Time) Filter {
	return func(e *Event) bool { return !e.Received.Before(t) }
}

// Succeeded keeps requests that were answered with a status below 400.
func Succeeded() Filter {
	return func(e *Event) bool { return e.Code < 400 }
}

// Forbidden keeps requests that were refused for want of a right.
func Forbidden() Filter {
	return func(e *Event) bool { return e.Code == 403 }
}

// OfTerminatingKind keeps writes that would have created an object of a kind whose
// CustomResourceDefinition is being deleted. The API server calls them forbidden,
// whatever rights there are.
func OfTerminatingKind() Filter {
	return func(e *Event) bool {
		return e.Code == 403 && strings.HasSuffix(e.Message, "create not allowed while custom resource definition is terminating")
	}
}

// Stored leaves out dry runs.
func Stored() Filter {
	return func(e *Event) bool { return !e.DryRun }
}

// Not keeps what the filter does not.
func Not(f Filter) Filter {
	return func(e *Event) bool { return !f(e) }
}

// IsEvent keeps requests on Event objects, of the old API and the new.
func IsEvent() Filter {
	return func(e *Event) bool {
		return e.Resource == "events" && (e.APIGroup == "" || e.APIGroup == "events.k8s.io")
	}
}

// IsWrite keeps requests that create, change or delete an object. Renewing a
// lease does not count, and neither do requests that only ask something: the
// reviews of the authentication and authorization groups, and tokens. Dry runs,
// Events and refused requests do count; filter them out where they may occur.
func IsWrite() Filter {
	return func(e *Event) bool {
		switch e.Verb {
		case VerbCreate, VerbUpdate, VerbPatch, VerbDelete, VerbDeleteCollection:
			return !isLease(e) && !isQuestion(e)
		default:
			return false
		}
	}
}

func isLease(e *Event) bool {
	return e.APIGroup == "coordination.k8s.io" && e.Resource == "leases"
}

func isQuestion(e *Event) bool {
	switch e.APIGroup {
	case "authentication.k8s.io", "authorization.k8s.io":
		return true
	case "":
		return e.Resource == "serviceaccounts" && e.Subresource == "token"
	default:
		return false
	}
}

// Writes returns the writes (see [IsWrite]) of a user that pass all filters.
func (l *Log) Writes(user string, filters ...Filter) ([]Event, error) {
	return l.Events(append([]Filter{ByUser(user), IsWrite()}, filters...)...)
}

func matches(e *Event, filters []Filter) bool {
	for _, wanted := range filters {
		if !wanted(e) {
			return false
		}
	}
	return true
}
