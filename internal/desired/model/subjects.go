// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
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
