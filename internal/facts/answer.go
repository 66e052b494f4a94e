// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// optional is what is known about one API. The lock of its owner guards it.
type optional struct {
	api       API
	waiters   []*waiter
	farewells []func(context.Context) error

	answered bool
	answer   schema.GroupVersionKind // An empty version: not served.
	uid      types.UID               // Of the CustomResourceDefinition, once seen.
	ended    bool                    // The farewells are still to be run.
	events   int                     // How often the CustomResourceDefinition was looked at.
	tries    int
}

// waiter is something to be done when the API begins to be served.
type waiter struct {
	add     Add
	lasting bool   // Not to be done again when the same version comes back.
	version string // For which it was done last.
	again   bool
}

// preferring returns the API with the version in use first: as long as it is served
// there is no reason to change.
func (s *optional) preferring() API {
	api := s.api
	if v := s.answer.Version; v != "" {
		others := slices.DeleteFunc(slices.Clone(api.Versions), func(other string) bool { return other == v })
		api.Versions = append([]string{v}, others...)
	}
	return api
}

// stop notes that the API is not served.
func (s *optional) stop() {
	if s.answer.Version != "" {
		s.ended = true
		s.renew()
	}
	s.answered, s.answer = true, schema.GroupVersionKind{}
}

// start notes that the API is served and returns what is to be done.
func (s *optional) start(gvk schema.GroupVersionKind, uid types.UID) []*waiter {
	if s.uid != "" && s.uid != uid {
		s.renew() // It went and came back unseen.
	}
	s.answered, s.answer, s.uid = true, gvk, uid
	s.ended, s.tries = false, 0
	var waiting []*waiter
	for _, w := range s.waiters {
		if w.again || w.version != gvk.Version {
			waiting = append(waiting, w)
		}
	}
	return waiting
}

// renew has everything done again that does not last.
func (s *optional) renew() {
	for _, w := range s.waiters {
		w.again = !w.lasting
	}
}
