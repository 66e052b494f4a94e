// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package publicpath_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired/publicpath"
)

// Payload processing refers to the first rules of the route by their place.
func TestTheOrderIsFixed(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range publicpath.Paths()[:3] {
		got = append(got, p.Path)
	}
	if diff := cmp.Diff([]string{"/v1/models", "/v1/subscriptions", "/v1/api-keys"}, got); diff != "" {
		t.Errorf("first paths (-want +got):\n%s", diff)
	}
}

func TestNoPathLeadsToAnInternalOne(t *testing.T) {
	t.Parallel()
	for _, p := range publicpath.Paths() {
		reached := p.Path
		if p.Target != "" {
			reached = p.Target
		}
		// A prefix reaches what is below it, so it must be deeper than /internal is.
		if !p.Exact && strings.Count(reached, "/") < 2 || strings.HasPrefix(reached, "/internal") {
			t.Errorf("%s reaches %s", p.Path, reached)
		}
	}
}

func TestManagementPathsAreThoseBeforeAndAfterTheRoute(t *testing.T) {
	t.Parallel()
	want := []publicpath.Path{
		{Path: "/health", Exact: true},
		{Path: "/maas-api/health", Exact: true},
		{Path: "/maas-api/v1/api-keys"},
		{Path: "/maas-api/v1/model"},
		{Path: "/maas-api/v1/models"},
		{Path: "/maas-api/v1/subscriptions"},
		{Path: "/v1/api-keys"},
		{Path: "/v1/model"},
		{Path: "/v1/models"},
		{Path: "/v1/subscriptions"},
	}
	got := publicpath.Management()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if !slices.Contains(want, publicpath.Path{Path: publicpath.Health, Exact: true}) {
		t.Errorf("%s is not among them", publicpath.Health)
	}
}
