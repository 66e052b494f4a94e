// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// guards remember, by config, since when the route to maas-api is seen guarded while it
// does not lead there yet.
type guards struct {
	mu    sync.Mutex
	known map[types.NamespacedName]sighting
}

type sighting struct {
	route types.UID
	since time.Time
}

// since is when a route was first seen guarded; the zero time when it was not.
func (g *guards) since(key types.NamespacedName, route types.UID) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if known := g.known[key]; known.route == route {
		return known.since
	}
	return time.Time{}
}

func (g *guards) set(key types.NamespacedName, route types.UID, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[types.NamespacedName]sighting{}
	}
	g.known[key] = sighting{route: route, since: since}
}

func (g *guards) forget(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.known, key)
}

// kept is what of the route to maas-api leads there and stays so. A cache that shows
// less may be behind: what was opened a moment ago is not closed again.
func (r *Reconciler) kept(ctx context.Context, s *scope) (leads opening.Leads, err error) {
	key := types.NamespacedName{Namespace: r.Settings.InfraNamespace, Name: s.input.Tenant.MaaSAPIRoute()}
	for _, reader := range []client.Reader{r.Client, r.APIReader} {
		live, err := fetch.Optional(ctx, reader, key, operand(schema.GroupVersion(gwapiv1.GroupVersion).WithKind("HTTPRoute")))
		if err != nil {
			return opening.Leads{}, err
		}
		route, err := routeOf(live)
		if err != nil {
			return opening.Leads{}, err
		}
		if leads = opening.Kept(route, s.input.Tenant.Gateway); leads.Route != "" && len(route.Leading) == len(route.Rules) {
			break
		}
	}
	return leads, nil
}

// routeOf reads what a live route says about itself; nil is none.
func routeOf(live *unstructured.Unstructured) (opening.Route, error) {
	if live == nil {
		return opening.Route{}, nil
	}
	var route gwapiv1.HTTPRoute
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &route); err != nil {
		return opening.Route{}, fmt.Errorf("read %s: %w", nameOf(live), err)
	}
	return opening.RouteOf(&route), nil
}

// open has the route lead to maas-api once it is guarded. From the moment a route is
// there, a gateway serves it, and it takes a while until Kuadrant has told the gateway
// who may pass: without a backend nobody does.
func (r *Reconciler) open(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.config)
	at := slices.IndexFunc(s.objects, isRoute)
	if s.stopped || at < 0 {
		return nil
	}
	ref := apply.InventoryOf(s.objects[at])[0]
	live := s.live[ref]
	if live == nil {
		return nil // It is another controller's, or its policy is.
	}
	route, err := routeOf(live)
	if err != nil {
		return err
	}
	if len(route.Leading) == len(route.Rules) {
		r.guards.forget(key)
		return nil
	}
	if s.handsOff[ref] {
		s.facts.Closed = fmt.Sprintf("%s leads nowhere: remove the annotation that keeps it from being managed.", nameOf(live))
		return nil
	}
	verdict, err := r.judgeGuard(ctx, s, route)
	if err != nil {
		return err
	}
	if !verdict.Open {
		s.facts.Closed = fmt.Sprintf("%s leads nowhere until Kuadrant enforces %s on it: without that policy it would be open to everybody. If it lasts, look at the status of the policy and at Kuadrant.",
			nameOf(live), s.input.Tenant.MaaSAPIAuthPolicy())
		if verdict.Again > 0 {
			s.lookAgain(verdict.Again)
		}
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Opening the route to maas-api, which is guarded now", "HTTPRoute", client.ObjectKeyFromObject(live))
	s.input.Leads = opening.Leads{Route: route.UID, Generation: route.Generation, All: true}
	out, err := tenant.Build(s.input)
	if err != nil {
		return s.unbuildable(err)
	}
	opened := r.render(s, out.Route())
	if s.stopped {
		return nil
	}
	s.objects[at] = opened[0]
	return r.apply(ctx, s, opened[0])
}

// judgeGuard finds out whether the route to maas-api is guarded. The configuration of
// the Gateway is read last, and past the cache.
func (r *Reconciler) judgeGuard(ctx context.Context, s *scope, route opening.Route) (opening.Verdict, error) {
	key := client.ObjectKeyFromObject(s.config)
	guard := opening.Guard{Route: route, Since: r.guards.since(key, route.UID), Now: r.Clock.Now()}
	policy := types.NamespacedName{Namespace: r.Settings.InfraNamespace, Name: s.input.Tenant.MaaSAPIAuthPolicy()}
	for ref, live := range s.live {
		if ref.Kind == kuadrant.AuthPolicy.Kind && ref.Namespace == policy.Namespace && ref.Name == policy.Name {
			guard.Enforced = live != nil && kuadrant.TargetRoute(live) == s.input.Tenant.MaaSAPIRoute() &&
				kuadrant.ReadinessOf(live, guard.Now).Enforced && !kuadrant.Displaced(live)
		}
	}
	if guard.Asks() {
		_, stored, err := r.storedConfiguration(ctx, s)
		if err != nil {
			return opening.Verdict{}, err
		}
		guard.Configuration = holds(stored, policy.String(), len(route.Rules), r.weights.of(key).seen)
	}
	verdict := opening.Decide(guard)
	switch {
	case !verdict.Guarded:
		r.guards.forget(key)
	case guard.Since.IsZero():
		r.guards.set(key, route.UID, guard.Now)
	}
	return verdict, nil
}

// holds tells what a stored configuration says of the rules that a policy guards. One
// that does not exist says nothing, unless it was there before.
func holds(stored, policy string, rules int, seen bool) opening.Configuration {
	switch {
	case stored == "" && seen:
		return opening.Lacking
	case stored == "" || kuadrant.Unsourced(stored):
		return opening.Silent
	case kuadrant.Actions(stored, policy) < rules:
		return opening.Lacking
	default:
		return opening.Holding
	}
}
