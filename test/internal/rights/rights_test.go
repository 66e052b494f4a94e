// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

func TestIdle(t *testing.T) {
	t.Parallel()
	used := Used([]audit.Event{
		{APIGroup: "apps", Resource: "deployments", Subresource: "status", Verb: "patch"},
		{Resource: "secrets", Verb: "watch"},
		{URI: "/version", Verb: "get"},
	})
	granted := []Right{"/secrets list", "/secrets watch", "/secrets get", "apps/deployments/status patch", "apps/deployments patch", "events.k8s.io/events patch"}
	got := Idle(granted, used, map[Right]string{"events.k8s.io/events patch": "counts what repeats"})
	if diff := cmp.Diff([]Right{"/secrets get", "apps/deployments patch"}, got); diff != "" {
		t.Errorf("idle rights (-want +got):\n%s", diff)
	}
}

func TestGrantedReadsEveryRole(t *testing.T) {
	t.Parallel()
	got, err := Granted("config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got, "maas.opendatahub.io/maasmodelrefs watch") {
		t.Errorf("the operator's right to watch models is missing from %v", got)
	}
	if _, err := Granted("config/rbac/nothing-*.yaml"); err == nil {
		t.Error("no files must be an error")
	}
}
