// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired"
)

// TestEveryPolicyOfTheTableIsWatched: what the component table says of a
// model's policies is what this controller waits for and watches.
func TestEveryPolicyOfTheTableIsWatched(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, component := range desired.Table() {
		if strings.HasPrefix(string(component.ID), "model/") {
			want = append(want, component.GVK.String()+" "+component.Requires)
		}
	}
	for _, api := range policyAPIs() {
		for _, version := range api.Versions {
			got = append(got, api.GroupKind.WithVersion(version).String()+" "+api.CRD)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of policies (-want +got):\n%s", diff)
	}
}
