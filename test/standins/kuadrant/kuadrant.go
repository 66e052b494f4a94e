// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/standins/host"
)

const (
	// AnnotationStall set to "true" on a policy freezes its status.
	AnnotationStall = "standins.maas.opendatahub.io/stall"

	// ControllerName is the gateway controller whose acceptance counts.
	ControllerName = "istio.io/gateway-controller"

	// policyController is what the real operator calls itself in the status of routes.
	policyController gwapiv1.GatewayController = "kuadrant.io/policy-controller"

	defaultShortestLag = 200 * time.Millisecond
	defaultLongestLag  = 800 * time.Millisecond
)

// Options adjusts the stand-in; the zero value behaves like a busy real one.
type Options struct {
	// Lag is the delay between a change and its status; nil is Between(200ms, 800ms).
	Lag LagFunc
	// StallFile stalls the stand-in for as long as that file exists.
	StallFile string
	// Logger receives what the stand-in does.
	Logger logr.Logger
}

// Kuadrant is a running stand-in.
type Kuadrant struct {
	host   *host.Host
	brake  *brake
	losses *losses
}

// Start runs the stand-in until Stop. The context bounds only the start.
func Start(ctx context.Context, cfg *rest.Config, opts Options) (*Kuadrant, error) {
	scheme := runtime.NewScheme()
	if err := gwapiv1.Install(scheme); err != nil {
		return nil, err
	}
	checker, err := newChecker()
	if err != nil {
		return nil, err
	}
	lag := opts.Lag
	if lag == nil {
		lag = Between(defaultShortestLag, defaultLongestLag)
	}
	k := &Kuadrant{brake: newBrake(opts.StallFile), losses: newLosses()}
	r := &reconciler{checker: checker, clock: newClock(lag), brake: k.brake, losses: k.losses}
	k.host, err = host.Start(ctx, cfg, host.Config{
		Name:   "kuadrant",
		Scheme: scheme,
		Requires: []schema.GroupVersionKind{
			AuthPolicy.GVK(), TokenRateLimitPolicy.GVK(),
			host.GatewayAPI(kindGateway), host.GatewayAPI(kindHTTPRoute),
		},
		Setup:  r.setup,
		Logger: opts.Logger,
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

// Stall freezes every status until Resume. When it returns, nothing is being written
// any more of what was found out before.
func (k *Kuadrant) Stall() { k.brake.pull() }

// Resume ends Stall; what changed in between is then answered.
func (k *Kuadrant) Resume() { k.brake.release() }

// Held lists the policies that are known to wait for Resume, as "Kind
// namespace/name".
func (k *Kuadrant) Held() []string { return k.brake.waiting() }

// Stop ends the stand-in and returns when it is gone.
func (k *Kuadrant) Stop() error { return k.host.Stop() }

// Done is closed when the stand-in has ended.
func (k *Kuadrant) Done() <-chan struct{} { return k.host.Done() }
