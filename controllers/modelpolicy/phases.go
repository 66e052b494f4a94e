// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// require ends the reconcile while the cluster lacks a kind of policies.
func (r *Reconciler) require(_ context.Context, s *scope) error {
	for _, api := range policyAPIs() {
		_, served, err := r.APIs.Served(api)
		if err != nil {
			return err
		}
		if !served {
			s.stop(v1alpha1.ReasonDependencyMissing, fmt.Sprintf("The cluster does not serve %s: install Kuadrant. Policies are written once it is there.", api.CRD))
			return nil
		}
	}
	return nil
}

const noRoute = "The model has no HTTPRoute yet. Policies are written once it has one; existing ones stay."

// gather reads the facts: the contributors, the tenant, the route and the
// policy that exists. Without contributors nothing else matters: a tenant or a
// route that is gone must not keep policies that are not wanted.
func (r *Reconciler) gather(ctx context.Context, s *scope) (err error) {
	s.input = model.Input{Model: s.key(), Settings: r.Settings, Route: s.ref.Status.HTTPRouteName}
	if s.input.AuthPolicies, err = r.authPolicies(ctx, s.key()); err != nil {
		return err
	}
	if s.input.Subscriptions, err = r.subscriptions(ctx, s.key()); err != nil {
		return err
	}
	if s.input.Tenant, s.homeless = r.Tenants.ForModel(ctx, s.ref); s.homeless != nil {
		if _, user := apperr.AsUser(s.homeless); !user {
			return s.homeless
		}
	}
	if s.input.Route == "" && !s.abandoned() {
		if s.homeless != nil {
			return s.homeless
		}
		s.route = conditions.True(v1alpha1.ReasonRouteUnique, "") // With nobody, whatever was before.
		s.stop(v1alpha1.ReasonRouteNotFound, noRoute)
		return nil
	}
	if s.input.AcceptKeyHeader, err = r.acceptsKeyHeader(ctx, s.ref); err != nil {
		return err
	}
	s.input.External = s.ref.Spec.ModelRef.Kind == v1alpha1.BackendExternalModel
	key := types.NamespacedName{Namespace: s.ref.Namespace, Name: model.TokenRateLimitPolicyName(s.ref.Name)}
	live, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.TokenRateLimitPolicy))
	s.input.Live = model.LiveOf(live)
	return err
}

// compute decides what the policies say. Those of a model whose tenant cannot be
// told stay as they are while something refers to it.
func (r *Reconciler) compute(_ context.Context, s *scope) (err error) {
	if s.homeless != nil && !s.abandoned() {
		return s.homeless
	}
	s.output, err = model.Build(s.input)
	s.computed = err == nil
	return err
}

// render makes objects of the values; nothing is applied unless all render.
func (r *Reconciler) render(_ context.Context, s *scope) error {
	objects, err := r.Engine.RenderAll(s.output.Requests())
	if err != nil {
		return apperr.Userf(v1alpha1.ReasonRenderFailed, "The policies could not be rendered: %v. The last good ones stay in place.", err)
	}
	s.rendered, s.output.Sizes = objects, s.output.Sizes.Weigh(objects)
	return nil
}

// apply writes what is wanted in place, then deletes what is not: the last
// contributor of its kind has left.
func (r *Reconciler) apply(ctx context.Context, s *scope) error {
	s.applying = true
	var errs []error
	for _, object := range s.rendered {
		result, err := r.Applier.Apply(ctx, object)
		errs = append(errs, err)
		s.note(result, object.GroupVersionKind(), object.GetName())
		r.observe(ctx, s, object, result)
	}
	if s.output.AuthPolicy == nil && s.output.AuthPolicyHeld == nil {
		errs = append(errs, r.remove(ctx, s, kuadrant.AuthPolicy, model.AuthPolicyName(s.ref.Name)))
	}
	if s.output.TokenRateLimitPolicy == nil {
		errs = append(errs, r.remove(ctx, s, kuadrant.TokenRateLimitPolicy, model.TokenRateLimitPolicyName(s.ref.Name)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.Metrics.SetPolicies(s.key(), s.input.Tenant.Gateway, s.output.Sizes.Weigh(s.placed))
	return r.conclude(ctx, s)
}

// conclude says what has become of the policies, the worst first.
func (r *Reconciler) conclude(ctx context.Context, s *scope) error {
	overridden, err := r.overridden(ctx, s)
	if err != nil {
		return err
	}
	held, isHeld := apperr.AsUser(s.output.AuthPolicyHeld)
	switch {
	case overridden != "":
		s.applied = conditions.False(v1alpha1.ReasonOverridden, overridden)
	case isHeld:
		s.applied = conditions.False(held.Reason, held.Message+" Until then no AuthPolicy is written; an existing one stays as it is.")
	case len(s.optedOut) > 0:
		slices.Sort(s.optedOut)
		s.applied = conditions.False(v1alpha1.ReasonOptedOut, fmt.Sprintf("Not managed because of the annotation %s=false: %s. Remove the annotation to hand it back, or delete it when it is no longer needed.", v1alpha1.AnnotationManaged, strings.Join(s.optedOut, ", ")))
	case len(s.rendered) == 0:
		s.applied = conditions.False(v1alpha1.ReasonNoPolicies, "No MaaSAuthPolicy and no MaaSSubscription of the model's tenant refers to the model, so it has no policies of its own and the gateway's defaults refuse every call.")
	default:
		s.applied = conditions.True(v1alpha1.ReasonPoliciesApplied, "")
	}
	return nil
}

func (s *scope) note(result apply.Result, kind schema.GroupVersionKind, name string) {
	if result.Outcome == apply.OptedOut {
		s.optedOut = append(s.optedOut, kind.Kind+" "+name)
	}
}

func (r *Reconciler) remove(ctx context.Context, s *scope, kind schema.GroupVersionKind, name string) error {
	result, err := r.Applier.Delete(ctx, kind, types.NamespacedName{Namespace: s.ref.Namespace, Name: name})
	s.note(result, kind, name)
	return err
}

// authPolicies lists what refers to a model. The objects are the cache's own, for
// there can be thousands and they are only read: change none.
func (r *Reconciler) authPolicies(ctx context.Context, key types.NamespacedName) ([]model.AuthPolicy, error) {
	var list v1alpha1.MaaSAuthPolicyList
	if err := r.Client.List(ctx, &list, client.MatchingFields{index.AuthPolicyByModel: key.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list MaaSAuthPolicies of model %s: %w", key, err)
	}
	tenants := r.Tenants.Members()
	out := make([]model.AuthPolicy, 0, len(list.Items))
	for i := range list.Items {
		tenant, err := tenants(ctx, list.Items[i].Namespace)
		if err != nil {
			return nil, err
		}
		out = append(out, model.AuthPolicy{Object: &list.Items[i], Tenant: tenant})
	}
	return out, nil
}

// subscriptions is authPolicies for the other kind.
func (r *Reconciler) subscriptions(ctx context.Context, key types.NamespacedName) ([]model.Subscription, error) {
	var list v1alpha1.MaaSSubscriptionList
	if err := r.Client.List(ctx, &list, client.MatchingFields{index.SubscriptionByModel: key.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list MaaSSubscriptions of model %s: %w", key, err)
	}
	tenants := r.Tenants.Members()
	out := make([]model.Subscription, 0, len(list.Items))
	for i := range list.Items {
		tenant, err := tenants(ctx, list.Items[i].Namespace)
		if err != nil {
			return nil, err
		}
		out = append(out, model.Subscription{Object: &list.Items[i], Tenant: tenant})
	}
	return out, nil
}
