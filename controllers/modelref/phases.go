// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/modelstatus"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// legacyServiceKind is how objects of earlier releases may spell the kind
// LLMInferenceService.
const legacyServiceKind v1alpha1.BackendKind = "llmisvc"

func (r *Reconciler) phases() []func(context.Context, *scope) error {
	return []func(context.Context, *scope) error{
		r.ensureFinalizer,
		r.readTenant,
		r.readBackend,
		r.readRoute,
		r.readGovernance,
		r.readIdentity,
	}
}

// readTenant finds the tenant, and with it the gateway the model belongs to.
func (r *Reconciler) readTenant(ctx context.Context, s *scope) error {
	tenant, err := r.Tenants.ForModel(ctx, s.model)
	if user, ok := apperr.AsUser(err); ok {
		s.facts.Tenant = modelstatus.Tenant{Reason: user.Reason, Problem: user.Message}
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the tenant of MaaSModelRef %s: %w", s.key(), err)
	}
	s.tenant = tenant
	s.facts.Tenant.Gateway = tenant.Gateway
	return nil
}

// readBackend reads the object that serves the model.
func (r *Reconciler) readBackend(ctx context.Context, s *scope) error {
	switch s.model.Spec.ModelRef.Kind {
	case v1alpha1.BackendLLMInferenceService, legacyServiceKind:
		return r.readService(ctx, s)
	case v1alpha1.BackendExternalModel:
		return r.readExternalModel(ctx, s)
	default:
		s.facts.Backend.State = modelstatus.BackendUnsupported
		return nil
	}
}

func (r *Reconciler) readService(ctx context.Context, s *scope) error {
	s.path = endpoint.PathOf(s.model.Namespace, s.model.Spec.ModelRef.Name)
	s.routes.labels = kserve.RouteLabels(s.model.Spec.ModelRef.Name)
	gvk, served, err := r.APIs.Served(llmInferenceServices)
	if err != nil {
		return err
	}
	if !served {
		s.facts.Backend.State = modelstatus.BackendNotInstalled
		return nil
	}
	object, err := fetch.Optional(ctx, r.Client, s.backendKey(), kserve.New(gvk))
	if err != nil {
		return err
	}
	if object == nil {
		s.facts.Backend.State = modelstatus.BackendMissing
		return nil
	}
	s.observeService(kserve.Wrap(object))
	return nil
}

// readExternalModel looks in both API groups; that of the inference gateway wins as soon as
// it has a route. Until then the other one of the name goes on serving, if there is one.
// Nothing runs in the cluster, so one of that group is as ready as its route. One of ours
// also says whether requests would get anywhere by it.
func (r *Reconciler) readExternalModel(ctx context.Context, s *scope) error {
	s.facts.Backend.State = modelstatus.BackendReady
	s.alias = s.model.Spec.ModelRef.Name
	inference, err := r.inferenceModel(ctx, s.backendKey())
	if err != nil {
		return err
	}
	own, err := fetch.Optional(ctx, r.Client, s.backendKey(), &v1alpha1.ExternalModel{})
	if err != nil {
		return err
	}
	if inference != nil {
		routed, err := r.routed(ctx, inference)
		if err != nil {
			return err
		}
		if name := inference.Status.HTTPRouteName; name != "" && (routed || own == nil) {
			s.routes.names = []string{name}
		}
		if routed || own == nil {
			s.facts.Backend = modelstatus.InferenceBackend(inference)
			return nil
		}
	}
	if own == nil {
		s.facts.Backend.State = modelstatus.BackendMissing
		return nil
	}
	s.facts.Backend = modelstatus.ExternalBackend(own)
	s.routes.names = []string{endpoint.ExternalRouteName(own.Name)}
	return nil
}

// inferenceModel reads an ExternalModel of the inference group; nil for none.
func (r *Reconciler) inferenceModel(ctx context.Context, key types.NamespacedName) (*inferencev1alpha1.ExternalModel, error) {
	if served, err := r.served(inferenceExternalModels); err != nil || !served {
		return nil, err
	}
	return fetch.Optional(ctx, r.Client, key, &inferencev1alpha1.ExternalModel{})
}

// routed tells whether an ExternalModel of the inference group has a route that stays.
func (r *Reconciler) routed(ctx context.Context, model *inferencev1alpha1.ExternalModel) (bool, error) {
	served, err := r.served(httpRoutes)
	if err != nil || !served || model.Status.HTTPRouteName == "" {
		return false, err
	}
	key := types.NamespacedName{Namespace: model.Namespace, Name: model.Status.HTTPRouteName}
	route, err := fetch.Optional(ctx, r.Client, key, &gwapiv1.HTTPRoute{})
	return route != nil && route.DeletionTimestamp == nil, err
}

// readRoute picks the route among those of the backend, and the URLs it offers.
func (r *Reconciler) readRoute(ctx context.Context, s *scope) error {
	routes, err := r.candidateRoutes(ctx, s)
	if err != nil {
		return err
	}
	picked, ok := endpoint.PickRoute(routes, s.facts.Tenant.Gateway)
	if !ok {
		return nil
	}
	s.facts.Route = picked
	if !picked.Attached {
		return nil
	}
	var gateway *gwapiv1.Gateway
	if served, err := r.served(gateways); err != nil {
		return err
	} else if served {
		if gateway, err = fetch.Optional(ctx, r.Client, picked.Gateway, &gwapiv1.Gateway{}); err != nil {
			return err
		}
	}
	s.facts.URLs = endpoint.Resolve(endpoint.Input{
		Path: s.path, Route: picked.Object, GatewayKey: picked.Gateway, Gateway: gateway, Addresses: s.addresses, URL: s.url,
	})
	return nil
}

func (r *Reconciler) candidateRoutes(ctx context.Context, s *scope) ([]gwapiv1.HTTPRoute, error) {
	served, err := r.served(httpRoutes)
	if err != nil || !served {
		return nil, err
	}
	var routes []gwapiv1.HTTPRoute
	if s.routes.labels != nil {
		var list gwapiv1.HTTPRouteList
		err := r.Client.List(ctx, &list, client.InNamespace(s.model.Namespace), client.MatchingLabels(s.routes.labels))
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("list HTTPRoutes of %s: %w", s.backendKey(), err)
		}
		routes = list.Items
	}
	for _, name := range s.routes.names {
		key := types.NamespacedName{Namespace: s.model.Namespace, Name: name}
		route, err := fetch.Optional(ctx, r.Client, key, &gwapiv1.HTTPRoute{})
		if err != nil {
			return nil, err
		}
		if route != nil {
			routes = append(routes, *route)
		}
	}
	return routes, nil
}

func (r *Reconciler) served(api facts.API) (bool, error) {
	_, served, err := r.APIs.Served(api)
	return served, err
}

// readGovernance looks for both halves among the objects of the model's tenant
// that can take effect: not being deleted, and neither Invalid nor Failed.
func (r *Reconciler) readGovernance(ctx context.Context, s *scope) error {
	if s.facts.Tenant.Problem != "" {
		return nil
	}
	member := r.Tenants.Members()
	byModel := index.Key(s.model.Namespace, s.model.Name)

	// Both lists may be long and are only looked at: no copies.
	var policies v1alpha1.MaaSAuthPolicyList
	if err := r.Client.List(ctx, &policies, client.MatchingFields{index.AuthPolicyByModel: byModel}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list auth policies of MaaSModelRef %s: %w", s.key(), err)
	}
	for i := 0; i < len(policies.Items) && !s.facts.Governance.Granted; i++ {
		ok, err := s.counts(ctx, &policies.Items[i], policies.Items[i].Status.Phase, member)
		if err != nil {
			return err
		}
		s.facts.Governance.Granted = ok
	}

	var subscriptions v1alpha1.MaaSSubscriptionList
	if err := r.Client.List(ctx, &subscriptions, client.MatchingFields{index.SubscriptionByModel: byModel}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list subscriptions of MaaSModelRef %s: %w", s.key(), err)
	}
	for i := 0; i < len(subscriptions.Items) && !s.facts.Governance.Subscribed; i++ {
		ok, err := s.counts(ctx, &subscriptions.Items[i], subscriptions.Items[i].Status.Phase, member)
		if err != nil {
			return err
		}
		s.facts.Governance.Subscribed = ok
	}
	return nil
}

// counts tells whether an object in that phase can take effect for the model's
// tenant. The last argument finds the tenant of a namespace.
func (s *scope) counts(ctx context.Context, obj client.Object, phase v1alpha1.Phase, member func(context.Context, string) (string, error)) (bool, error) {
	if obj.GetDeletionTimestamp() != nil || phase == v1alpha1.PhaseInvalid || phase == v1alpha1.PhaseFailed {
		return false, nil
	}
	tenant, err := member(ctx, obj.GetNamespace())
	return tenant == s.tenant.Name, err
}

// readIdentity settles the alias and finds the models of the namespace that share it.
func (r *Reconciler) readIdentity(ctx context.Context, s *scope) error {
	status := s.model.Status
	sameSpec := status.ObservedGeneration == 0 || status.ObservedGeneration == s.model.Generation
	s.facts.Identity.Alias = modelstatus.Alias(s.alias, status.ResolvedModelAlias, sameSpec)
	if s.facts.Identity.Alias == "" {
		return nil
	}
	var list v1alpha1.MaaSModelRefList
	err := r.Client.List(ctx, &list, client.InNamespace(s.model.Namespace), client.MatchingFields{index.ModelByAlias: s.facts.Identity.Alias}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list models with the alias of MaaSModelRef %s: %w", s.key(), err)
	}
	for i := range list.Items {
		if sibling := &list.Items[i]; sibling.Name != s.model.Name && sibling.DeletionTimestamp == nil {
			s.facts.Identity.Siblings = append(s.facts.Identity.Siblings, sibling.Name)
		}
	}
	return nil
}
