// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Kinds of generated policies. A cluster without Kuadrant serves neither.
var (
	AuthPolicies           = facts.API{GroupKind: kuadrant.AuthPolicy.GroupKind(), CRD: kuadrant.AuthPolicyCRD, Versions: []string{kuadrant.AuthPolicy.Version}}
	TokenRateLimitPolicies = facts.API{GroupKind: kuadrant.TokenRateLimitPolicy.GroupKind(), CRD: kuadrant.TokenRateLimitPolicyCRD, Versions: []string{kuadrant.TokenRateLimitPolicy.Version}}
)

// WatchPolicies adds a watch of a kind of generated policies to a controller,
// as soon as the cluster serves the kind.
func WatchPolicies(ctx context.Context, apis *facts.OptionalAPIs, api facts.API, w Watch) error {
	return apis.OnFirstServed(ctx, api, func(_ context.Context, gvk schema.GroupVersionKind) error {
		return w.Controller.Watch(source.Kind[client.Object](w.Cache, kuadrant.New(gvk), w.Handler))
	})
}

// Watch is a watch that a controller gets later.
type Watch struct {
	// Controller gets the watch.
	Controller controller.Controller
	// Cache delivers the objects.
	Cache cache.Cache
	// Handler enqueues what they concern.
	Handler handler.EventHandler
}
