// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
)

// ranked are the claims of all models, with what decides whom requests reach that name the
// target. What others have is not looked at of models of another target.
func (r *Reconciler) ranked(ctx context.Context, s *scope) ([]external.Claim, error) {
	claims := slices.Clone(s.claims)
	for i := range claims {
		claim := &claims[i]
		if claim.Target != s.input.Target {
			continue
		}
		published, err := r.govern(ctx, s, claim)
		if err != nil {
			return nil, err
		}
		if published {
			if claim.Addressed, err = r.addressed(ctx, s, claim); err != nil {
				return nil, err
			}
		}
	}
	return claims, nil
}

// govern finds out whether an administrator of the default tenant named a model in a
// policy, and tells whether the tenant has it published.
func (r *Reconciler) govern(ctx context.Context, s *scope, claim *external.Claim) (published bool, err error) {
	refs, err := r.publishing(ctx, claim.Model)
	if err != nil {
		return false, err
	}
	for i := range refs {
		tenant, err := r.Tenants.ForModel(ctx, &refs[i])
		if _, user := apperr.AsUser(err); user {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("find the tenant of MaaSModelRef %s: %w", client.ObjectKeyFromObject(&refs[i]), err)
		}
		if tenant.Gateway != s.input.Gateway {
			continue
		}
		published = true
		if policy, err := r.policyOf(ctx, s, &refs[i]); err != nil || policy != nil {
			claim.Governed = policy != nil
			return true, err
		}
	}
	return published, nil
}

// addressed tells whether the route of a model has a rule for the target.
func (r *Reconciler) addressed(ctx context.Context, s *scope, claim *external.Claim) (bool, error) {
	live, err := r.live(ctx, s, httpRoutes, types.NamespacedName{Namespace: claim.Model.Namespace, Name: external.Name(claim.Model.Name)})
	if err != nil {
		return false, err
	}
	route, err := routeOf(live)
	if err != nil {
		return false, err
	}
	return external.Addresses(opening.RouteOf(route), claim.Target), nil
}

// rivals are the models that have the target of one of some models, and those.
func (r *Reconciler) rivals(ctx context.Context, keys []types.NamespacedName) ([]types.NamespacedName, error) {
	targets := map[string]bool{}
	for _, key := range keys {
		of, found, err := r.subjectOf(ctx, key)
		if err != nil {
			return nil, err
		}
		if found {
			targets[of.model().Spec.TargetModel] = true
		}
	}
	if len(targets) == 0 {
		return keys, nil
	}
	more, err := r.which(ctx, func(m *v1alpha1.ExternalModel) bool { return targets[m.Spec.TargetModel] })
	return append(keys, more...), err
}
