// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the stand-in for the gateway controller: it writes the
// status of GatewayClasses, Gateways and HTTPRoutes as Istio would, and nothing
// else. It starts no proxy, reads no certificates and looks at no backends.
//
// It keeps the decisions that a wrong manifest trips over: only classes with
// its controller name are its business, parents that do not exist get no entry,
// a section name must name a listener, a listener admits only the namespaces of
// its allowedRoutes, and hostnames must intersect.
package gateway

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/host"
)

// ControllerName is the controller this stand-in plays.
const ControllerName gwapiv1.GatewayController = "istio.io/gateway-controller"

// AnnotationStall set to "true" on a route leaves its status to the test.
const AnnotationStall = "standins.maas.opendatahub.io/stall"

// Options adjusts the stand-in.
type Options struct {
	// Logger receives what the stand-in does.
	Logger logr.Logger
}

// Gateway is a running stand-in.
type Gateway struct {
	host *host.Host
}

// Start runs the stand-in until Stop. The context bounds only the start.
func Start(ctx context.Context, cfg *rest.Config, opts Options) (*Gateway, error) {
	scheme := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme) error{gwapiv1.Install, corev1.AddToScheme} {
		if err := install(scheme); err != nil {
			return nil, err
		}
	}
	h, err := host.Start(ctx, cfg, host.Config{
		Name:   "gateway",
		Scheme: scheme,
		Requires: []schema.GroupVersionKind{
			host.GatewayAPI("GatewayClass"),
			host.GatewayAPI("Gateway"),
			host.GatewayAPI("HTTPRoute"),
		},
		Setup:  setup,
		Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Gateway{host: h}, nil
}

// Stop ends the stand-in and returns when it is gone.
func (g *Gateway) Stop() error { return g.host.Stop() }

// Done is closed when the stand-in has ended.
func (g *Gateway) Done() <-chan struct{} { return g.host.Done() }
