// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

const (
	// maxSubjects and maxSubjectBytes bound the subjects written into an
	// AuthPolicy, so that its size does not grow with every policy.
	maxSubjects     = 256
	maxSubjectBytes = 16 << 10
)

// subjectSet is the sorted union of the subjects of a model.
type subjectSet struct {
	Users, Groups []string
}

// unionSubjects merges the subjects of the policies. Groups outside the safe
// character set are left out: no caller is ever a member of one.
func unionSubjects(policies []*v1alpha1.MaaSAuthPolicy) subjectSet {
	users, groups := map[string]bool{}, map[string]bool{}
	for _, p := range policies {
		for _, user := range p.Spec.Subjects.Users {
			if user != "" {
				users[user] = true
			}
		}
		for _, group := range p.Spec.Subjects.Groups {
			if entitlement.SafeGroup(group.Name) {
				groups[group.Name] = true
			}
		}
	}
	return subjectSet{Users: slices.Sorted(maps.Keys(users)), Groups: slices.Sorted(maps.Keys(groups))}
}

func (s subjectSet) count() int { return len(s.Users) + len(s.Groups) }

func (s subjectSet) bytes() int {
	size := 0
	for _, name := range slices.Concat(s.Users, s.Groups) {
		size += len(name)
	}
	return size
}

// fits tells whether an AuthPolicy can hold the subjects.
func (s subjectSet) fits() bool { return s.count() <= maxSubjects && s.bytes() <= maxSubjectBytes }

// Subjects counts the subjects of a policy who could call, and lists the groups
// that nobody can be a member of.
func Subjects(policy *v1alpha1.MaaSAuthPolicy) (usable int, unusable []string) {
	set := unionSubjects([]*v1alpha1.MaaSAuthPolicy{policy})
	for _, group := range policy.Spec.Subjects.Groups {
		if !entitlement.SafeGroup(group.Name) {
			unusable = append(unusable, strconv.Quote(group.Name))
		}
	}
	return set.count(), unusable
}

// generations lists which generation of each policy was read.
func generations(policies []*v1alpha1.MaaSAuthPolicy) string {
	items := make([]string, 0, len(policies))
	for _, p := range policies {
		items = append(items, generation(p))
	}
	return entitlement.Join(items, maxContributors)
}

func generation(p *v1alpha1.MaaSAuthPolicy) string {
	return fmt.Sprintf("%s/%s=%d", p.Namespace, p.Name, p.Generation)
}

func keysOf[T metav1.Object](objects []T) []types.NamespacedName {
	out := make([]types.NamespacedName, 0, len(objects))
	for _, o := range objects {
		out = append(out, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return out
}

func memberKeys(members []member) []types.NamespacedName {
	out := make([]types.NamespacedName, 0, len(members))
	for _, m := range members {
		out = append(out, m.key)
	}
	return out
}
