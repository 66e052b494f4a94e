// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/endpoint"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/guard"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// kept is what of the route leads to the provider and stays so. A cache that shows less
// may be behind: what was opened a moment ago is not closed again.
func (r *Reconciler) kept(ctx context.Context, s *scope) (leads opening.Leads, err error) {
	if !s.served[httpRoutes.CRD] {
		return opening.Leads{}, nil
	}
	for _, reader := range []client.Reader{r.Client, r.APIReader} {
		live, err := fetch.Optional(ctx, reader, s.ownName(), empty(httpRoutes))
		if err != nil {
			return opening.Leads{}, err
		}
		route, err := routeOf(live)
		if err != nil {
			return opening.Leads{}, err
		}
		found := opening.RouteOf(route)
		if leads = opening.Kept(found, s.input.Gateway); leads.Route != "" && len(found.Leading) == len(found.Rules) {
			break
		}
	}
	return leads, nil
}

// routeOf reads a live route; nil for none.
func routeOf(live *unstructured.Unstructured) (*gwapiv1.HTTPRoute, error) {
	if live == nil {
		return nil, nil //nolint:nilnil // Documented: none.
	}
	route := &gwapiv1.HTTPRoute{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, route); err != nil {
		return nil, fmt.Errorf("read %s: %w", nameOf(live), err)
	}
	return route, nil
}

// open has the route lead to the provider once a policy guards it and the Gateway can
// reach the provider. From the moment a route is there, a gateway serves it, and it takes
// a while until Kuadrant has told the gateway who may pass.
func (r *Reconciler) open(ctx context.Context, s *scope) error {
	if s.route == nil {
		return nil
	}
	live, err := routeOf(s.route)
	if err != nil {
		return err
	}
	route := opening.RouteOf(live)
	if !s.reached {
		s.facts.Closed = fmt.Sprintf("No request reaches the provider until the Gateway knows its host, port and TLS, by ServiceEntry and DestinationRule %s of namespace %s, "+
			"and by no other of the host that says something else. If it lasts, look at those: somebody may have changed them and opted them out.",
			external.SharedName(s.output.Holder.Name, s.input.Provider.Host), s.output.Holder.Namespace)
		s.lookAgain(missingAgain) // A watch tells before.
		return nil
	}
	if len(route.Leading) == len(route.Rules) {
		r.guards.Forget(s.key())
		return nil
	}
	if s.handsOff {
		s.facts.Closed = "The HTTPRoute leads nowhere: remove the annotation that keeps it from being managed."
		return nil
	}
	verdict, err := r.judgeGuard(ctx, s, route)
	if err != nil {
		return err
	}
	if !verdict.Open {
		s.facts.Closed = "The HTTPRoute leads nowhere until Kuadrant enforces the AuthPolicy of the model on it: without one it would be open to everybody. Publish the ExternalModel with a MaaSModelRef, and name that in a MaaSAuthPolicy. If it lasts, look at the status of those and at Kuadrant."
		if verdict.Again > 0 {
			s.lookAgain(verdict.Again)
		}
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Opening the route to a provider, which is guarded now", "HTTPRoute", s.ownName())
	s.input.Leads = opening.Leads{Route: route.UID, Generation: route.Generation, All: true}
	s.build()
	if err := r.render(s); err != nil {
		return err
	}
	return r.apply(ctx, s, s.objects[len(s.objects)-1])
}

// judgeGuard finds out whether the route is guarded. The configuration of the Gateway is
// read last, and past the cache.
func (r *Reconciler) judgeGuard(ctx context.Context, s *scope, route opening.Route) (opening.Verdict, error) {
	key := s.key()
	judged := opening.Guard{Route: route, Since: r.guards.Since(key, route.UID), Now: r.Clock.Now()}
	policy, err := r.enforced(ctx, s)
	if err != nil {
		return opening.Verdict{}, err
	}
	judged.Enforced = policy != ""
	if judged.Asks() {
		served := func(api facts.API) (bool, error) { return s.served[api.CRD], nil }
		_, stored, err := guard.Stored(ctx, r.APIReader, served, s.input.Gateway)
		if err != nil {
			return opening.Verdict{}, err
		}
		judged.Configuration = guard.Holds(stored, policy, len(route.Rules), r.configured.Seen(s.input.Gateway, stored))
	}
	verdict := opening.Decide(judged)
	r.guards.Note(key, judged, verdict)
	return verdict, nil
}

// enforced is the AuthPolicy, as "<namespace>/<name>", that Kuadrant enforces on the
// route: that of one of the MaaSModelRefs that publish the model. Empty for none.
func (r *Reconciler) enforced(ctx context.Context, s *scope) (string, error) {
	refs, err := r.publishing(ctx, s.key())
	if err != nil {
		return "", err
	}
	for i := range refs {
		policy, err := r.policyOf(ctx, s, &refs[i])
		if err != nil {
			return "", err
		}
		if policy != nil && kuadrant.ReadinessOf(policy, r.Clock.Now()).Enforced && !kuadrant.Displaced(policy) {
			return client.ObjectKeyFromObject(policy).String(), nil
		}
	}
	return "", nil
}

// publishing are the MaaSModelRefs that publish a model.
func (r *Reconciler) publishing(ctx context.Context, key types.NamespacedName) ([]v1alpha1.MaaSModelRef, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{index.ModelByBackend: index.BackendKey(v1alpha1.BackendExternalModel, key.Name)}); err != nil {
		return nil, fmt.Errorf("list the MaaSModelRefs of ExternalModel %s: %w", key, err)
	}
	return list.Items, nil
}

// policyOf is the AuthPolicy that was made for a MaaSModelRef and targets the route of the
// ExternalModel that it publishes; nil for none.
func (r *Reconciler) policyOf(ctx context.Context, s *scope, ref *v1alpha1.MaaSModelRef) (*unstructured.Unstructured, error) {
	if !s.served[trigger.AuthPolicies.CRD] {
		return nil, nil //nolint:nilnil // Documented: none.
	}
	key := types.NamespacedName{Namespace: ref.Namespace, Name: model.AuthPolicyName(ref.Name)}
	policy, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
	if err != nil || policy == nil || kuadrant.TargetRoute(policy) != external.Name(ref.Spec.ModelRef.Name) {
		return nil, err
	}
	if of, ours := trigger.ModelOfPolicy(policy); !ours || of != client.ObjectKeyFromObject(ref) {
		return nil, nil //nolint:nilnil // Documented: none.
	}
	return policy, nil
}

// observe reads what the Gateway says about the route: also of one that was written before,
// and serves on although nothing could be written now.
func (r *Reconciler) observe(ctx context.Context, s *scope) error {
	if s.facts.Refused != "" || s.facts.Replacement == external.Replaced {
		return nil // It was removed, whatever the cache still has.
	}
	live := s.route
	if live == nil {
		found, err := r.live(ctx, s, httpRoutes, s.ownName())
		if err != nil {
			return err
		}
		if found != nil && s.owns(found) {
			live = found
		}
	}
	route, err := routeOf(live)
	if err != nil || route == nil {
		return err
	}
	if picked, ok := endpoint.PickRoute([]gwapiv1.HTTPRoute{*route}, s.input.Gateway); ok {
		s.facts.Route = picked
	}
	return nil
}
