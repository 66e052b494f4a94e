// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func TestGroups(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		groups []string
		want   []string
	}{
		"without groups there is system:authenticated": {nil, []string{"system:authenticated"}},
		"it stands first and once":                     {[]string{"b", "system:authenticated", "a"}, []string{"system:authenticated", "b", "a"}},
		"safe characters are letters, digits and some": {[]string{"Az09:._/-"}, []string{"system:authenticated", "Az09:._/-"}},
		"groups outside the safe set are dropped":      {[]string{"a,b", "\"", "", "a b", " a", "a\n", "é", "CN=a", "ok"}, []string{"system:authenticated", "ok"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, entitlement.Groups(test.groups)); diff != "" {
				t.Errorf("Groups(%q) (-want +got):\n%s", test.groups, diff)
			}
		})
	}
}

func TestGroupsMayBeNormalisedAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once := entitlement.Groups(rapid.SliceOf(rapid.String()).Draw(t, "groups"))
		if diff := cmp.Diff(once, entitlement.Groups(once)); diff != "" {
			t.Errorf("a second pass changes the groups (-first +second):\n%s", diff)
		}
	})
}

func TestSafeGroupIsItsPattern(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(entitlement.SafeGroupPattern)
	rapid.Check(t, func(t *rapid.T) {
		group := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("aZ5:._/-,\"\n é\x00")), 0, 6, -1)).Draw(t, "group")
		if got, want := entitlement.SafeGroup(group), pattern.MatchString(group); got != want {
			t.Errorf("SafeGroup(%q) = %t, want %t as %s says", group, got, want, pattern)
		}
	})
}

func TestCallers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make       func() (entitlement.Caller, error)
		wantCode   entitlement.Code
		wantGroups []string
	}{
		"a token has its groups": {
			make:       func() (entitlement.Caller, error) { return entitlement.FromToken("alice", []string{"team"}) },
			wantGroups: []string{"system:authenticated", "team"},
		},
		"a service account keeps system: groups": {
			make: func() (entitlement.Caller, error) {
				return entitlement.FromToken("system:serviceaccount:a:b", []string{"system:serviceaccounts"})
			},
			wantGroups: []string{"system:authenticated", "system:serviceaccounts"},
		},
		"a token without a username is refused": {
			make:     func() (entitlement.Caller, error) { return entitlement.FromToken("", []string{"team"}) },
			wantCode: entitlement.CodeBadRequest,
		},
		"an external provider gives out no system: group": {
			make: func() (entitlement.Caller, error) {
				return entitlement.FromOIDC("alice", []string{"system:masters", "team"})
			},
			wantGroups: []string{"system:authenticated", "team"},
		},
		"an external provider gives out no system: username": {
			make:     func() (entitlement.Caller, error) { return entitlement.FromOIDC("system:admin", nil) },
			wantCode: entitlement.CodeAccessDenied,
		},
		"a key has the groups it was minted for": {
			make:       func() (entitlement.Caller, error) { return entitlement.FromKey("alice", []string{"team"}, "gold") },
			wantGroups: []string{"system:authenticated", "team"},
		},
		"a key without a subscription is refused": {
			make:     func() (entitlement.Caller, error) { return entitlement.FromKey("alice", []string{"team"}, "") },
			wantCode: entitlement.CodeAccessDenied,
		},
		"a key without a username is refused": {
			make:     func() (entitlement.Caller, error) { return entitlement.FromKey("", nil, "gold") },
			wantCode: entitlement.CodeBadRequest,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := test.make()
			if got := codeOf(err); got != test.wantCode {
				t.Fatalf("error = %v, want code %q", err, test.wantCode)
			}
			if diff := cmp.Diff(test.wantGroups, c.Groups()); diff != "" {
				t.Errorf("Groups() (-want +got):\n%s", diff)
			}
		})
	}
}
