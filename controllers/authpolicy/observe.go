// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// specMissing is said of an object stored without a spec.
const specMissing = "spec is required: name at least one model in spec.modelRefs and one subject in spec.subjects."

// Judge judges every distinct model reference and looks for foreign policies on
// the models' routes.
func (r *Reconciler) Judge(ctx context.Context, policy *v1alpha1.MaaSAuthPolicy, now time.Time) ([]attachment.Reference, error) {
	tenant, err := r.Tenants.Enabled(ctx, policy.Namespace)
	outside, user := apperr.AsUser(err)
	if err != nil && !user {
		return nil, err
	}
	var references []attachment.Reference
	var models []*v1alpha1.MaaSModelRef
	for _, key := range index.GrantedModels(policy) {
		facts, err := r.gather(ctx, tenant, key, now)
		if err != nil {
			return nil, err
		}
		if user {
			facts.Refusal = outside
		}
		references = append(references, attachment.OfAuthPolicy(facts, policy, policy.Status))
		if !facts.Gone() {
			models = append(models, facts.Model)
		}
	}
	foreign, err := r.foreignPolicies(ctx, models)
	if err != nil {
		return nil, err
	}
	writeStatus(policy, references)
	writeConflicts(policy, foreign)
	return references, nil
}

// Complete adds nothing: every part of the status is a reason to write it.
func (r *Reconciler) Complete(context.Context, *v1alpha1.MaaSAuthPolicy) error { return nil }

// Settled tells whether the status already says what follows from a policy.
func (r *Reconciler) Settled(p attachment.Policy, policy *v1alpha1.MaaSAuthPolicy, key types.NamespacedName) bool {
	return attachment.SettledAuthPolicy(p, policy, key)
}

// gather reads what one reference is judged by.
func (r *Reconciler) gather(ctx context.Context, tenant string, key types.NamespacedName, now time.Time) (f attachment.Facts, err error) {
	f.Key = key
	if f.Model, err = fetch.Optional(ctx, r.Client, key, &v1alpha1.MaaSModelRef{}); err != nil || f.Gone() {
		return f, err
	}
	owner, err := r.Tenants.ForModel(ctx, f.Model)
	if err == nil {
		err = model.AdmitTenant(owner, tenant)
	}
	if _, user := apperr.AsUser(err); err != nil && !user {
		return f, err
	}
	f.Refusal = err
	name := types.NamespacedName{Namespace: key.Namespace, Name: model.AuthPolicyName(key.Name)}
	policy, err := fetch.Optional(ctx, r.Client, name, kuadrant.New(kuadrant.AuthPolicy))
	f.Policy = attachment.PolicyOf(policy, now)
	return f, err
}

// writeStatus puts the verdicts into the status.
func writeStatus(policy *v1alpha1.MaaSAuthPolicy, references []attachment.Reference) {
	status := &policy.Status
	status.ObservedGeneration = policy.Generation
	status.AuthPolicies = nil
	for _, r := range references {
		if !r.Expressible() {
			continue
		}
		status.AuthPolicies = append(status.AuthPolicies, v1alpha1.AuthPolicyRefStatus{
			ResourceRefStatus: v1alpha1.ResourceRefStatus{
				Name: model.AuthPolicyName(r.Model.Name), Namespace: r.Model.Namespace,
				Ready: r.State == attachment.Enforced, Reason: r.Reason, Message: conditions.Truncate(r.Message),
			},
			Model: r.Model.Name, ModelNamespace: r.Model.Namespace,
		})
	}
	verdict := attachment.Of(references, specMissing)
	status.Phase = verdict.Phase
	conditions.Set(&status.Conditions, v1alpha1.ConditionReady, policy.Generation,
		conditions.Value{Status: verdict.Ready, Reason: string(verdict.Reason), Message: verdict.Message})
}
