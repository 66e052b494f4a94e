// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// Tenanted is an object and the tenant it belongs to: empty when it belongs to
// none or that cannot be told, and then it counts for nobody.
type Tenanted[T any] struct {
	Object T
	Tenant string
}

// Owns tells whether the caller is an owner of a subscription: one of its users
// or a member of one of its groups, compared exactly.
func Owns(c Caller, owner *v1alpha1.Owner) bool {
	return c.among(owner.Users, owner.Groups)
}

// Owned tells whether anybody can be an owner of a subscription: it has a user, or
// a group that somebody can be a member of.
func Owned(s *v1alpha1.MaaSSubscription) bool {
	return slices.ContainsFunc(s.Spec.Owner.Users, func(user string) bool { return user != "" }) ||
		slices.ContainsFunc(s.Spec.Owner.Groups, func(group v1alpha1.GroupReference) bool { return SafeGroup(group.Name) })
}

// Admits tells whether the caller is a subject of an auth policy: one of its
// users or a member of one of its groups, compared exactly.
func Admits(c Caller, subjects *v1alpha1.Subjects) bool {
	return c.among(subjects.Users, subjects.Groups)
}

func (c Caller) among(users []string, groups []v1alpha1.GroupReference) bool {
	if c.username == "" {
		return false
	}
	return slices.Contains(users, c.username) || slices.ContainsFunc(groups, func(group v1alpha1.GroupReference) bool {
		return slices.Contains(c.groups, group.Name)
	})
}

// AccessAllowed tells whether an auth policy of the model's tenant lets the
// caller use the model: one that is not being deleted, names the model, and has
// the caller as a subject.
func AccessAllowed(c Caller, model types.NamespacedName, tenant string, policies []Tenanted[*v1alpha1.MaaSAuthPolicy]) bool {
	return slices.ContainsFunc(policies, func(p Tenanted[*v1alpha1.MaaSAuthPolicy]) bool {
		return counts(p.Object, p.Tenant, tenant) && p.Object.DeletionTimestamp == nil &&
			slices.Contains(p.Object.Spec.ModelRefs, v1alpha1.ModelReference{Namespace: model.Namespace, Name: model.Name}) &&
			Admits(c, &p.Object.Spec.Subjects)
	})
}

// counts tells whether an object exists and belongs to the tenant.
func counts[T any](object *T, tenant, wanted string) bool {
	return object != nil && tenant == wanted && tenant != ""
}
