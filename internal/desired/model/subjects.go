// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"maps"
	"regexp"
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

var safeGroupPattern = regexp.MustCompile(safeGroup)

// subjectSet is the sorted union of the subjects of a model.
type subjectSet struct {
	Users, Groups []string
}

// unionSubjects merges the subjects of the policies. The second result is
// false when they exceed the bound. Groups outside the safe character set are
// left out: no caller is ever a member of one.
func unionSubjects(policies []*v1alpha1.MaaSAuthPolicy) (subjectSet, bool) {
	users, groups := map[string]bool{}, map[string]bool{}
	size := 0
	for _, p := range policies {
		for _, user := range p.Spec.Subjects.Users {
			if user != "" && !users[user] {
				users[user] = true
				size += len(user)
			}
		}
		for _, group := range p.Spec.Subjects.Groups {
			if safeGroupPattern.MatchString(group.Name) && !groups[group.Name] {
				groups[group.Name] = true
				size += len(group.Name)
			}
		}
	}
	set := subjectSet{Users: slices.Sorted(maps.Keys(users)), Groups: slices.Sorted(maps.Keys(groups))}
	return set, len(users)+len(groups) <= maxSubjects && size <= maxSubjectBytes
}

// Subjects counts the subjects of a policy who could call, and lists the groups
// that nobody can be a member of.
func Subjects(policy *v1alpha1.MaaSAuthPolicy) (usable int, unusable []string) {
	set, _ := unionSubjects([]*v1alpha1.MaaSAuthPolicy{policy})
	for _, group := range policy.Spec.Subjects.Groups {
		if !safeGroupPattern.MatchString(group.Name) {
			unusable = append(unusable, strconv.Quote(group.Name))
		}
	}
	return len(set.Users) + len(set.Groups), unusable
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
