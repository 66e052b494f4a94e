// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestOwnerOfRoute(t *testing.T) {
	t.Parallel()
	governed := func(name string) entitlement.Claim { return entitlement.Claim{Model: name, Access: true, Limits: true} }
	half := func(name string) entitlement.Claim { return entitlement.Claim{Model: name, Limits: true} }
	astray := func(c entitlement.Claim) entitlement.Claim { c.Astray = true; return c }
	none := func(name string) entitlement.Claim { return entitlement.Claim{Model: name} }
	tests := map[string]struct {
		claims []entitlement.Claim
		want   string
	}{
		"the only model": {[]entitlement.Claim{none("m")}, "m"},
		"the first by name of several governed ones":      {[]entitlement.Claim{governed("b"), governed("a")}, "a"},
		"a governed one before one nobody governs":        {[]entitlement.Claim{none("a"), governed("b")}, "b"},
		"a governed one before one half governed":         {[]entitlement.Claim{half("a"), governed("b")}, "b"},
		"one half governed before one nobody governs":     {[]entitlement.Claim{none("a"), half("b")}, "b"},
		"one at its tenant's gateway before one astray":   {[]entitlement.Claim{astray(governed("a")), none("b")}, "b"},
		"a governed one before others among those astray": {[]entitlement.Claim{astray(none("a")), astray(governed("b"))}, "b"},
		"the first by name of several nobody governs":     {[]entitlement.Claim{none("b"), none("a")}, "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := entitlement.OwnerOfRoute(test.claims); got.Model != test.want {
				t.Errorf("OwnerOfRoute() = %s, want %s", got.Model, test.want)
			}
		})
	}
}
