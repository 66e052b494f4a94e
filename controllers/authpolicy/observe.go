// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// scope holds what one reconcile knows.
type scope struct {
	policy, before *v1alpha1.MaaSAuthPolicy
	// items are the verdicts on the model references, in the spec's order.
	items []item
	// unread is true when a fact could not be read.
	unread bool
}

// item is the verdict on one model reference.
type item struct {
	status v1alpha1.AuthPolicyRefStatus
	// missing means that the model does not exist; refused that the reference
	// is left out; waiting that the gateway has not caught up yet.
	missing, refused, waiting bool
}

// observe judges every distinct model reference.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	tenant, err := r.Tenants.Member(ctx, s.policy.Namespace)
	if err != nil {
		s.unread = true
		return err
	}
	for _, key := range index.GrantedModels(s.policy) {
		i, err := r.observeModel(ctx, s.policy, tenant, key)
		if err != nil {
			s.unread = true
			return err
		}
		s.items = append(s.items, i)
	}
	return nil
}

func (r *Reconciler) observeModel(ctx context.Context, policy *v1alpha1.MaaSAuthPolicy, tenant string, key types.NamespacedName) (item, error) {
	i := item{status: v1alpha1.AuthPolicyRefStatus{
		ResourceRefStatus: v1alpha1.ResourceRefStatus{Name: model.AuthPolicyName(key.Name), Namespace: key.Namespace},
		Model:             key.Name,
		ModelNamespace:    key.Namespace,
	}}
	ref, err := fetch.Optional(ctx, r.Client, key, &v1alpha1.MaaSModelRef{})
	if err != nil {
		return i, err
	}
	if ref == nil || ref.DeletionTimestamp != nil {
		i.missing = true
		return i.because(v1alpha1.ReasonNotFound, fmt.Sprintf("MaaSModelRef %s does not exist.", key)), nil
	}
	owner, err := r.Tenants.ForModel(ctx, ref)
	if err == nil {
		err = model.AdmitTenant(owner, tenant)
	}
	if user, ok := apperr.AsUser(err); ok {
		i.refused = true
		return i.because(v1alpha1.ConditionReason(user.Reason), user.Message), nil
	}
	if err != nil {
		return i, err
	}
	live, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Namespace: key.Namespace, Name: i.status.Name}, kuadrant.New(kuadrant.AuthPolicy))
	if err != nil {
		return i, err
	}
	if live != nil && !model.HoldsSubjects(live, policy) {
		i.waiting = true
		return i.because(v1alpha1.ReasonNotFound, "The generated AuthPolicy does not hold these subjects yet."), nil
	}
	readiness := kuadrant.ReadinessOf(live)
	i.status.Ready, i.waiting = readiness.Enforced, readiness.Waiting
	return i.because(readiness.Reason, readiness.Message), nil
}

func (i item) because(reason v1alpha1.ConditionReason, message string) item {
	i.status.Reason, i.status.Message = reason, conditions.Truncate(message)
	return i
}
