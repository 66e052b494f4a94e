// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// OfAuthPolicy judges one model of a MaaSAuthPolicy. before is the status as it
// was.
func OfAuthPolicy(f Facts, policy *v1alpha1.MaaSAuthPolicy, before v1alpha1.MaaSAuthPolicyStatus) Reference {
	r, settled := f.admitted()
	if settled {
		return r
	}
	usable, unusable := model.Subjects(policy)
	if usable == 0 {
		return r.because(Lost, v1alpha1.ReasonInvalidSpec, "spec.subjects names nobody who could call: give at least one user, or a group of letters, digits and : . _ / -.")
	}
	if f.Policy != nil && !model.HoldsSubjects(f.Policy, policy) {
		return r.missing(f, "these subjects")
	}
	if len(unusable) > 0 {
		return r.because(Broken, v1alpha1.ReasonInvalidSpec, fmt.Sprintf("spec.subjects.groups: nobody can be a member of %s, because group names hold only letters, digits and : . _ / -. Remove or rename it.", unusable[0]))
	}
	wasEnforced := before.ObservedGeneration == policy.Generation &&
		slices.ContainsFunc(before.AuthPolicies, func(a v1alpha1.AuthPolicyRefStatus) bool {
			return a.Ready && a.Model == f.Key.Name && a.ModelNamespace == f.Key.Namespace
		})
	return r.enforcement(kuadrant.ReadinessOf(f.Policy), f.Policy != nil && wasEnforced)
}

// OfSubscription judges one model of a MaaSSubscription. before is the status
// as it was.
func OfSubscription(f Facts, s *v1alpha1.MaaSSubscription, set entitlement.RateSet, before v1alpha1.MaaSSubscriptionStatus) Reference {
	r, settled := f.admitted()
	if settled {
		return r
	}
	if f.Model.Status.HTTPRouteName == "" {
		return r.because(Waiting, v1alpha1.ReasonBackendNotReady, "The model has no HTTPRoute yet.")
	}
	covered := model.Covered(kuadrant.Limits(f.Policy), s, f.Key, set)
	if f.Policy != nil && excluded(f.Policy.GetAnnotations()[v1alpha1.AnnotationExcludedSubscriptions], s, covered) {
		r.Valid = false
		return r.because(Lost, v1alpha1.ReasonTooManyMembers, "Too many subscriptions of the model share these rates and this is one of the newest: choose other rates.")
	}
	if f.Policy != nil && !covered {
		return r.missing(f, "these limits")
	}
	r = r.enforcement(kuadrant.ReadinessOf(f.Policy), covered && wasEnforced(before, s.Generation, f.Key))
	if governance := meta.FindStatusCondition(f.Model.Status.Conditions, string(v1alpha1.ConditionGovernanceAttached)); r.State == Broken && governance != nil && governance.Status == metav1.ConditionFalse {
		// Limits read what the AuthPolicy finds out; without one Kuadrant can only
		// complain about the expressions.
		r.Message = "The limits are not enforced. " + governance.Message
	}
	return r
}

// excluded tells whether the policy names the subscription among those that no
// longer fit. A list that had to be cut short means everybody it does not cover.
func excluded(list string, s *v1alpha1.MaaSSubscription, covered bool) bool {
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	return entitlement.Listed(list, key) || entitlement.CutShort(list) && !covered
}

// wasEnforced tells whether this generation of the subscription was enforced
// for the model before.
func wasEnforced(before v1alpha1.MaaSSubscriptionStatus, generation int64, key types.NamespacedName) bool {
	return before.ObservedGeneration == generation &&
		slices.ContainsFunc(before.TokenRateLimitStatuses, func(t v1alpha1.TokenRateLimitStatus) bool {
			return t.Ready && t.Model == key.Name && t.Namespace == key.Namespace
		})
}
