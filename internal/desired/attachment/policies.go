// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// OfAuthPolicy judges one model of a MaaSAuthPolicy.
func OfAuthPolicy(f Facts, policy *v1alpha1.MaaSAuthPolicy) Reference {
	r, settled := f.admitted()
	if settled {
		return r
	}
	if f.Policy != nil && !model.HoldsSubjects(f.Policy, policy) {
		return r.because(Waiting, v1alpha1.ReasonNotFound, "The generated AuthPolicy does not hold these subjects yet.")
	}
	return r.enforcement(kuadrant.ReadinessOf(f.Policy))
}

// OfSubscription judges one model of a MaaSSubscription. before is the status
// as it was: once a generation of the subscription was enforced it stays so
// while the policy holds its clause, even though others' changes give the
// policy new generations.
func OfSubscription(f Facts, s *v1alpha1.MaaSSubscription, set entitlement.RateSet, before v1alpha1.MaaSSubscriptionStatus) Reference {
	r, settled := f.admitted()
	if settled {
		return r
	}
	if f.Model.Status.HTTPRouteName == "" {
		return r.because(Lost, v1alpha1.ReasonBackendNotReady, "The model has no HTTPRoute yet.")
	}
	covered := model.Covered(kuadrant.Limits(f.Policy), s, f.Key, set)
	if f.Policy != nil && excluded(f.Policy.GetAnnotations()[v1alpha1.AnnotationExcludedSubscriptions], s, covered) {
		r.Valid = false
		return r.because(Lost, v1alpha1.ReasonTooManyMembers, "Too many subscriptions of the model share these rates and this is one of the newest: choose other rates.")
	}
	if f.Policy != nil && !covered {
		return r.because(Waiting, v1alpha1.ReasonNotFound, "The generated TokenRateLimitPolicy does not hold these limits yet.")
	}
	readiness := kuadrant.ReadinessOf(f.Policy)
	if covered && readiness.Waiting && wasEnforced(before, s.Generation, f.Key) {
		return r.because(Enforced, v1alpha1.ReasonAcceptedEnforced, "")
	}
	return r.enforcement(readiness)
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
