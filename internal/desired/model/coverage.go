// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// subjectRuleName is the authorization rule that names the subjects.
const subjectRuleName = "subject-allowed"

// Covered tells whether a limit among the given ones holds the subscription's
// clause with its present rates.
func Covered(limits []kuadrant.Limit, s *v1alpha1.MaaSSubscription, model types.NamespacedName, set entitlement.RateSet) bool {
	clause, err := celtext.String(memberOf(s, model, set, s.Status.RateLimitIdentity).id)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(limits, func(l kuadrant.Limit) bool {
		return slices.Contains([]string{set.Name, set.Name + shortSuffix, set.Name + legacySuffix}, l.Name) && strings.Contains(l.Predicate, clause)
	})
}

// Held tells whether any of the limits holds the subscription's clause, be it with
// former rates.
func Held(limits []kuadrant.Limit, s *v1alpha1.MaaSSubscription, model types.NamespacedName) bool {
	clause, err := celtext.String(memberOf(s, model, entitlement.RateSet{}, s.Status.RateLimitIdentity).id)
	return err == nil && slices.ContainsFunc(limits, func(l kuadrant.Limit) bool { return strings.Contains(l.Predicate, clause) })
}

// HoldsSubjects tells whether a generated AuthPolicy was made of the present
// generation of the MaaSAuthPolicy and lets all its subjects pass. Without a
// subjects rule maas-api alone decides, and there is nothing to hold.
func HoldsSubjects(live *unstructured.Unstructured, policy *v1alpha1.MaaSAuthPolicy) bool {
	held := live.GetAnnotations()[v1alpha1.AnnotationAuthPolicyGenerations]
	if !slices.Contains(strings.Split(held, ","), generation(policy)) && !entitlement.CutShort(held) {
		return false
	}
	rule, found, err := unstructured.NestedSlice(live.Object, "spec", "rules", "authorization", subjectRuleName, "patternMatching", "patterns")
	if err != nil || !found {
		return err == nil
	}
	var predicates strings.Builder
	for _, pattern := range rule {
		if entry, ok := pattern.(map[string]any); ok {
			if text, ok := entry["predicate"].(string); ok {
				predicates.WriteString(text)
			}
		}
	}
	subjects := unionSubjects([]*v1alpha1.MaaSAuthPolicy{policy})
	return !slices.ContainsFunc(slices.Concat(subjects.Users, subjects.Groups), func(subject string) bool {
		literal, err := celtext.String(subject)
		return err != nil || !strings.Contains(predicates.String(), literal)
	})
}
