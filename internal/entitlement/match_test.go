// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

func groupsOf(names ...string) []v1alpha1.GroupReference {
	var out []v1alpha1.GroupReference
	for _, name := range names {
		out = append(out, v1alpha1.GroupReference{Name: name})
	}
	return out
}

func TestMatching(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		users  []string
		groups []v1alpha1.GroupReference
		nobody bool
		want   bool
	}{
		"a listed user matches":                         {users: []string{"bob", "alice"}, want: true},
		"a listed group matches":                        {groups: groupsOf("other", "team"), want: true},
		"everybody is authenticated":                    {groups: groupsOf("system:authenticated"), want: true},
		"an empty list matches nobody":                  {},
		"usernames are compared exactly":                {users: []string{"Alice", " alice", "alice ", "ali"}},
		"groups are compared exactly":                   {groups: groupsOf("Team", " team", "tea")},
		"a user is no group":                            {users: []string{"team"}, groups: groupsOf("alice")},
		"nobody is no member of system:authenticated":   {users: []string{""}, groups: groupsOf("system:authenticated", ""), nobody: true},
		"nobody is a member of a group outside the set": {groups: groupsOf("a,b")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := member(t, "team", "a,b")
			if test.nobody {
				c = entitlement.Caller{}
			}
			if got := entitlement.Owns(c, &v1alpha1.Owner{Users: test.users, Groups: test.groups}); got != test.want {
				t.Errorf("Owns() = %t, want %t", got, test.want)
			}
			if got := entitlement.Admits(c, &v1alpha1.Subjects{Users: test.users, Groups: test.groups}); got != test.want {
				t.Errorf("Admits() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestAccessAllowed(t *testing.T) {
	t.Parallel()
	deleting := grant(everybody(), llama)
	deleting.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		policies []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]
		want     bool
	}{
		"a policy that names model and caller allows": {
			policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{ours(grant(everybody(), qwen)), ours(grant(everybody(), qwen, llama))},
			want:     true,
		},
		"without a policy nobody is allowed":       {},
		"a policy of another model does not allow": {policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{ours(grant(everybody(), qwen))}},
		"a policy for others does not allow": {
			policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{ours(grant(v1alpha1.Subjects{Users: []string{"bob"}}, llama))},
		},
		"a policy being deleted does not allow": {policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{ours(deleting)}},
		"a policy of another tenant does not allow": {
			policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{{Object: grant(everybody(), llama), Tenant: "red"}},
		},
		"a policy of no tenant does not allow": {
			policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{{Object: grant(everybody(), llama)}},
		},
		"a policy that is not there does not allow": {
			policies: []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{{Tenant: tenant}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := member(t)
			if got := entitlement.AccessAllowed(c, keyOf(llama), tenant, test.policies); got != test.want {
				t.Errorf("AccessAllowed() = %t, want %t", got, test.want)
			}
			f := facts(sub("gold").group(entitlement.AuthenticatedGroup))
			f.AuthPolicies = test.policies
			selection, err := entitlement.NewIndex(tenant, f).Select(c, entitlement.Request{Model: llama})
			if err != nil || selection.AccessAllowed != test.want {
				t.Errorf("Select() says access allowed %t, error %v, want %t", selection.AccessAllowed, err, test.want)
			}
		})
	}
}

func TestModelOfNoTenantHasNoPolicies(t *testing.T) {
	t.Parallel()
	policies := []entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{{Object: grant(everybody(), llama)}}
	if entitlement.AccessAllowed(member(t), keyOf(llama), "", policies) {
		t.Error("AccessAllowed() = true for a model and a policy of no tenant")
	}
}
