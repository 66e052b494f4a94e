// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// The controllers hand in the objects of a shared cache.
func TestBuildLeavesItsInputAsItWas(t *testing.T) {
	t.Parallel()
	input := func() model.Input {
		in := guarded()
		in.AuthPolicies = append(in.AuthPolicies, authPolicy("other", []string{"zoe", "alice", "alice"}, "z", "a"))
		in.Subscriptions = []model.Subscription{
			short("z", rate(100, "1h"), rate(5, "1s"), rate(10, "1m")),
			legacy("b", rate(10, "1m"), rate(100, "1h")),
			short("a", rate(10, "1m"), rate(10, "60s")),
			short("invalid", rate(0, "eternity")),
			unlimited("free", "short"),
		}
		return in
	}
	in := input()
	build(t, in)
	if diff := cmp.Diff(input(), in); diff != "" {
		t.Errorf("the input changed (-before +after):\n%s", diff)
	}
}
