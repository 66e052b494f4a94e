// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// askGranted asks whether payload processing may read the Secret with the provider's API
// key. Nobody but those who run the namespace can grant that, and the question takes no
// right on Secrets.
func (r *Reconciler) askGranted(ctx context.Context, s *scope) error {
	if !r.PayloadProcessing || s.facts.Secret == "" || s.facts.Homeless != nil {
		return nil //nolint:nilerr // The problem is a fact of the status.
	}
	account := types.NamespacedName{Namespace: s.input.Gateway.Namespace, Name: tenancy.Context{}.PayloadProcessing()}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: s.model.Namespace, Verb: "get", Version: "v1", Resource: "secrets", Name: s.facts.Secret,
		},
	}}
	if err := r.Client.Create(ctx, review); err != nil {
		return fmt.Errorf("ask whether ServiceAccount %s may read Secret %s/%s: %w", account, s.model.Namespace, s.facts.Secret, err)
	}
	if !review.Status.Allowed {
		s.facts.Denied, s.facts.Namespace = account, s.model.Namespace
		s.lookAgain(missingAgain) // Nothing tells of a new right.
	}
	return nil
}
