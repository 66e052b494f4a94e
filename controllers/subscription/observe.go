// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/priority"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// specMissing is said of an object stored without a spec.
const specMissing = "spec is required: name at least one model in spec.modelRefs and one owner in spec.owner."

// entry is one model of a subscription with what it is judged by.
type entry struct {
	facts attachment.Facts
	set   entitlement.RateSet
}

// Judge decides the identity, if that is still open, and judges every distinct
// model.
func (r *Reconciler) Judge(ctx context.Context, s *v1alpha1.MaaSSubscription, now time.Time) ([]attachment.Reference, error) {
	tenant, err := r.Tenants.Enabled(ctx, s.Namespace)
	outside, user := apperr.AsUser(err)
	if err != nil && !user {
		return nil, err
	}
	var entries []entry
	for _, ref := range index.SubscribedModels(s) {
		e, err := r.gather(ctx, s, tenant, ref, now)
		if err != nil {
			return nil, err
		}
		if user {
			e.facts.Refusal = outside
		}
		entries = append(entries, e)
	}
	before := s.Status
	s.Status.RateLimitIdentity = entitlement.DecideIdentity(s, listed(s, entries))
	references := make([]attachment.Reference, 0, len(entries))
	for _, e := range entries {
		references = append(references, attachment.OfSubscription(e.facts, s, e.set, before))
	}
	writeStatus(s, references)
	if user {
		conditions.Remove(&s.Status.Conditions, v1alpha1.ConditionSpecPriorityDuplicate)
	}
	return references, nil
}

// listed tells whether an existing policy, as an earlier release generated it,
// names the subscription. It matters only while the identity is open.
func listed(s *v1alpha1.MaaSSubscription, entries []entry) bool {
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	return s.Status.RateLimitIdentity == "" && slices.ContainsFunc(entries, func(e entry) bool {
		return model.LiveOf(e.facts.Policy.Object).ShowsLegacy(key, e.facts.Key)
	})
}

// Complete says whether other subscriptions share the priority. A change of that
// alone is written by package priority, off the path of a burst.
func (r *Reconciler) Complete(ctx context.Context, s *v1alpha1.MaaSSubscription) error {
	tenant, err := r.Tenants.Member(ctx, s.Namespace)
	if err != nil || tenant == "" {
		return err
	}
	shared, err := priority.Shared(ctx, r.Client, s)
	if err != nil {
		return err
	}
	priority.Set(s, shared)
	return nil
}

// Settled tells whether the status already says what follows from a policy.
func (r *Reconciler) Settled(p attachment.Policy, s *v1alpha1.MaaSSubscription, key types.NamespacedName) bool {
	return attachment.SettledSubscription(p, s, key)
}

// Concerned is empty: policies of others do not change what a subscription says
// beyond what the generated one shows.
func (r *Reconciler) Concerned(context.Context, client.Object) ([]types.NamespacedName, error) {
	return nil, nil
}

// gather reads what one model is judged by.
func (r *Reconciler) gather(ctx context.Context, s *v1alpha1.MaaSSubscription, tenant string, key types.NamespacedName, now time.Time) (e entry, err error) {
	e.facts.Key = key
	name := types.NamespacedName{Namespace: key.Namespace, Name: model.TokenRateLimitPolicyName(key.Name)}
	policy, err := fetch.Optional(ctx, r.Client, name, kuadrant.New(kuadrant.TokenRateLimitPolicy))
	if err != nil {
		return e, err
	}
	e.facts.Policy = attachment.PolicyOf(policy, now)
	if e.facts.Model, err = fetch.Optional(ctx, r.Client, key, &v1alpha1.MaaSModelRef{}); err != nil || e.facts.Gone() {
		return e, err
	}
	e.set, err = r.admit(ctx, s, tenant, e.facts.Model)
	if _, user := apperr.AsUser(err); err != nil && !user {
		return e, err
	}
	e.facts.Refusal = err
	return e, nil
}

// admit tells whether the entry for a model can be enforced.
func (r *Reconciler) admit(ctx context.Context, s *v1alpha1.MaaSSubscription, tenant string, ref *v1alpha1.MaaSModelRef) (entitlement.RateSet, error) {
	owner, err := r.Tenants.ForModel(ctx, ref)
	if err != nil {
		return entitlement.RateSet{}, err
	}
	if err := model.AdmitTenant(owner, tenant); err != nil {
		return entitlement.RateSet{}, err
	}
	return model.AdmitRates(s, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
}

// writeStatus puts the verdicts into the status.
func writeStatus(s *v1alpha1.MaaSSubscription, references []attachment.Reference) {
	status := &s.Status
	status.ObservedGeneration = s.Generation
	status.ModelRefStatuses, status.TokenRateLimitStatuses = nil, nil
	for _, r := range references {
		if !r.Expressible() {
			continue
		}
		status.ModelRefStatuses = append(status.ModelRefStatuses, modelRefStatus(r))
		status.TokenRateLimitStatuses = append(status.TokenRateLimitStatuses, v1alpha1.TokenRateLimitStatus{
			ResourceRefStatus: v1alpha1.ResourceRefStatus{
				Name: model.TokenRateLimitPolicyName(r.Model.Name), Namespace: r.Model.Namespace,
				Ready: r.Ready(), Reason: r.Reason, Message: conditions.Truncate(r.Message),
			},
			Model: r.Model.Name,
		})
	}
	verdict := attachment.Of(references, specMissing)
	status.Phase = verdict.Phase
	conditions.Set(&status.Conditions, v1alpha1.ConditionReady, s.Generation,
		conditions.Value{Status: verdict.Ready, Reason: string(verdict.Reason), Message: verdict.Message})
}

// modelRefStatus says whether the entry itself is in order.
func modelRefStatus(r attachment.Reference) v1alpha1.ModelRefStatus {
	out := v1alpha1.ModelRefStatus{ResourceRefStatus: v1alpha1.ResourceRefStatus{Namespace: r.Model.Namespace, Name: r.Model.Name}}
	if !r.Valid {
		out.Reason, out.Message = r.Reason, conditions.Truncate(r.Message)
		return out
	}
	out.Ready, out.Reason = true, v1alpha1.ReasonValid
	return out
}
