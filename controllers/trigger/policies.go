// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Kinds of generated policies. A cluster without Kuadrant serves neither.
var (
	AuthPolicies           = facts.API{GroupKind: kuadrant.AuthPolicy.GroupKind(), CRD: "authpolicies.kuadrant.io", Versions: []string{kuadrant.AuthPolicy.Version}}
	TokenRateLimitPolicies = facts.API{GroupKind: kuadrant.TokenRateLimitPolicy.GroupKind(), CRD: "tokenratelimitpolicies.kuadrant.io", Versions: []string{kuadrant.TokenRateLimitPolicy.Version}}
)

// WatchPolicies adds a watch of a kind of generated policies to a controller,
// as soon as the cluster serves the kind.
func WatchPolicies(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs, c controller.Controller, api facts.API, h handler.EventHandler) error {
	return apis.OnServed(ctx, api, func(_ context.Context, gvk schema.GroupVersionKind) error {
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), kuadrant.New(gvk), h))
	})
}
