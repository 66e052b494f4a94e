// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

// OtherNamespace is another namespace of models.
const OtherNamespace = "llm-x"

// The Services behind models' routes, in both namespaces of models.
const (
	// UpstreamService is the world's upstream, SimulatorService the model simulator.
	UpstreamService  = "upstream"
	SimulatorService = "simulator"

	backendPort = 8000
)

// Model is a model of a tenant.
type Model struct {
	Tenant *Tenant
	// Namespace and Name are those of the MaaSModelRef, of what it refers to and of the
	// route. The namespace is [stage.ModelNamespace] or [OtherNamespace].
	Namespace, Name string
	// At is where the tenant's gateway serves the model: below "/<namespace>/<name>" by
	// default.
	At string
	// Service is what is behind the route: UpstreamService by default.
	Service string
}

// Model is one of the tenant's, with the upstream behind it.
func (t *Tenant) Model(name string) Model {
	return Model{Tenant: t, Namespace: stage.ModelNamespace, Name: name, Service: UpstreamService}
}

// Simulated is the model with the simulator behind it.
func (m Model) Simulated() Model {
	m.Service = SimulatorService
	return m
}

// Key is the name of the model as policies refer to it.
func (m Model) Key() types.NamespacedName { return builder.Key(m.Namespace, m.Name) }

// Path is where the tenant's gateway serves the model.
func (m Model) Path() string { return cmp.Or(m.At, "/"+m.Key().String()) }

// Route is the model's route. The part of the path that chooses it is cut off on the
// way.
func (m Model) Route() *gwapiv1.HTTPRoute {
	route := builder.Route(m.Namespace, m.Name, m.Tenant.Gateway.Namespace, m.Tenant.Gateway.Name).
		Hostnames(m.Tenant.Host).Path(m.Path()).Obj()
	route.Spec.Rules[0].Filters = []gwapiv1.HTTPRouteFilter{{
		Type: gwapiv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwapiv1.HTTPURLRewriteFilter{
			Path: &gwapiv1.HTTPPathModifier{Type: gwapiv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new("/")},
		},
	}}
	route.Spec.Rules[0].BackendRefs = []gwapiv1.HTTPBackendRef{{BackendRef: gwapiv1.BackendRef{
		BackendObjectReference: gwapiv1.BackendObjectReference{Name: gwapiv1.ObjectName(m.Service), Port: new(gwapiv1.PortNumber(backendPort))},
	}}}
	return route
}

// Objects are the model with its route and its server, without anybody who may use it.
func (m Model) Objects() []client.Object {
	return []client.Object{
		m.Route(), builder.ModelServer(m.Namespace, m.Name),
		builder.ModelRef(m.Namespace, m.Name).Tenant(m.Tenant.Name).Obj(),
	}
}

// Create creates objects, and returns when the first cannot be.
func (w *World) Create(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := w.Admin.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

// Change changes an object as it is now.
func Change[T client.Object](ctx context.Context, w *World, o T, how func(T)) error {
	return Eventually(ctx, fmt.Sprintf("a change of %T %s", o, client.ObjectKeyFromObject(o)), func(ctx context.Context) error {
		if err := w.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		how(o)
		return w.Admin.Update(ctx, o)
	})
}

// AwaitModel waits until the model is ready to be served.
func (w *World) AwaitModel(ctx context.Context, m Model) error {
	return Eventually(ctx, "model "+m.Name, func(ctx context.Context) error {
		ref := &v1alpha1.MaaSModelRef{}
		if err := w.Admin.Get(ctx, m.Key(), ref); err != nil {
			return err
		}
		if ref.Status.Phase != "Ready" {
			return fmt.Errorf("%s: %+v", ref.Status.Phase, ref.Status.Conditions)
		}
		return nil
	})
}

// AwaitSubscription waits until a subscription is in a phase.
func (w *World) AwaitSubscription(ctx context.Context, key types.NamespacedName, phase v1alpha1.Phase) error {
	return Eventually(ctx, "subscription "+key.String(), func(ctx context.Context) error {
		s := &v1alpha1.MaaSSubscription{}
		if err := w.Admin.Get(ctx, key, s); err != nil {
			return err
		}
		if s.Status.Phase != phase {
			return fmt.Errorf("%s: %+v", s.Status.Phase, s.Status.Conditions)
		}
		return nil
	})
}

// Policies are the kinds and names of what is generated for the model.
func (m Model) Policies() map[schema.GroupVersionKind]types.NamespacedName {
	return map[schema.GroupVersionKind]types.NamespacedName{
		kuadrant.AuthPolicy:           builder.Key(m.Namespace, "maas-auth-"+m.Name),
		kuadrant.TokenRateLimitPolicy: builder.Key(m.Namespace, "maas-trlp-"+m.Name),
	}
}

// AwaitEnforced waits until Kuadrant says that it enforces a policy as it is now.
func (w *World) AwaitEnforced(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) error {
	return Eventually(ctx, kind.Kind+" "+key.String(), func(ctx context.Context) error {
		policy := kuadrant.New(kind)
		if err := w.Admin.Get(ctx, key, policy); err != nil {
			return err
		}
		return enforced(policy)
	})
}

func enforced(policy *unstructured.Unstructured) error {
	conditions, err := status.Conditions(policy)
	if err != nil {
		return err
	}
	seen, _, _ := unstructured.NestedInt64(policy.Object, "status", "observedGeneration")
	if seen != policy.GetGeneration() || !meta.IsStatusConditionTrue(conditions, "Accepted") || !meta.IsStatusConditionTrue(conditions, "Enforced") {
		return fmt.Errorf("generation %d of %d: %+v", seen, policy.GetGeneration(), conditions)
	}
	return nil
}

// AwaitServed waits until a request is answered 200: until then the policies, what the
// engines make of them and what maas-api knows may lag behind.
func (w *World) AwaitServed(ctx context.Context, r Request) error {
	return w.AwaitAnswer(ctx, r, func(a Answer) bool { return a.Status == http.StatusOK })
}

// AwaitAnswer waits until a request is answered as wanted.
func (w *World) AwaitAnswer(ctx context.Context, r Request, wanted func(Answer) bool) error {
	return Eventually(ctx, fmt.Sprintf("%s %s at %s", r.method(), r.Path, r.Tenant), func(ctx context.Context) error {
		answer, err := w.Do(ctx, r)
		if err != nil {
			return err
		}
		if !wanted(answer) {
			return errors.New(answer.String())
		}
		return nil
	})
}
