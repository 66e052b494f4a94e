// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// AdmitTenant refuses an object of another tenant, or of none: a model belongs
// to exactly one. What is refused is left out of the generated policies, and
// its callers are refused, never unlimited. The error is an
// [apperr.UserError] that holds no other tenant's names.
func AdmitTenant(model tenancy.Context, tenant string) error {
	switch tenant {
	case "": // First: a model whose tenant is not known has no name either.
		return apperr.User(v1alpha1.ReasonForeignTenant, "This namespace belongs to no tenant: label it for an AITenant, or move the object to a tenant namespace.")
	case model.Name:
		return nil
	default:
		return apperr.User(v1alpha1.ReasonForeignTenant, "The model belongs to another tenant: refer to models of this namespace's tenant, or set spec.tenantRef on the model.")
	}
}

// DuplicateEntry refuses a subscription that names the model more than once, as
// only objects of an earlier release can: whichever entry counted, the others
// would say something else than what is enforced. The error is an
// [apperr.UserError].
func DuplicateEntry(s *v1alpha1.MaaSSubscription, model types.NamespacedName) error {
	first := -1
	for i, ref := range s.Spec.ModelRefs {
		switch {
		case ref.Namespace != model.Namespace || ref.Name != model.Name:
		case first < 0:
			first = i
		default:
			return apperr.Userf(v1alpha1.ReasonInvalidSpec, "spec.modelRefs[%d] names the same model as spec.modelRefs[%d]: merge their tokenRateLimits into one entry and remove the other.", i, first)
		}
	}
	return nil
}

// AdmitRates returns the rate set of the subscription's entry for the model,
// or why the entry cannot be enforced.
func AdmitRates(s *v1alpha1.MaaSSubscription, model types.NamespacedName) (entitlement.RateSet, error) {
	i := slices.IndexFunc(s.Spec.ModelRefs, func(ref v1alpha1.ModelSubscription) bool {
		return ref.Namespace == model.Namespace && ref.Name == model.Name
	})
	if i < 0 {
		return entitlement.RateSet{}, apperr.User(v1alpha1.ReasonNotFound, "spec.modelRefs does not name the model.")
	}
	if err := DuplicateEntry(s, model); err != nil {
		return entitlement.RateSet{}, err
	}
	set, err := entitlement.RateSetOf(&s.Spec.ModelRefs[i])
	if err != nil {
		return entitlement.RateSet{}, apperr.Userf(v1alpha1.ReasonInvalidSpec, "spec.modelRefs[%d].%v.", i, err)
	}
	return set, nil
}
