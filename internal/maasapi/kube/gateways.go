// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const (
	// labelGatewayName is on everything that belongs to a Gateway.
	labelGatewayName = "gateway.networking.k8s.io/gateway-name"

	// foundFor is how long the address of a gateway counts, missedFor how long nobody
	// looks again after there was none.
	foundFor  = time.Minute
	missedFor = 5 * time.Second

	portHTTPS = 443
	portHTTP  = 80
)

// ErrNoGatewayService says that the gateway has no Service, or several, so that
// there is no address to send anything to.
var ErrNoGatewayService = errors.New("the gateway has not exactly one Service with port 443")

// GatewaysOptions configure [Gateways].
type GatewaysOptions struct {
	Clients *Clients
	// Gateway is the tenant's.
	Gateway types.NamespacedName
	// Timeout bounds one call. Default: 10 s.
	Timeout time.Duration
	Clock   clock.PassiveClock
	Log     *slog.Logger
}

// Gateways finds the tenant's gateway: its address inside the cluster, and the one
// its clients use. Any number of goroutines may use it.
type Gateways struct {
	options GatewaysOptions
	// looking is full while somebody looks: the others wait for what is found.
	looking chan struct{}
	found   atomic.Pointer[lookup]
}

// lookup is the outcome of looking for the Service.
type lookup struct {
	address string
	err     error
	until   time.Time
}

// NewGateways makes Gateways. Nothing is read yet.
func NewGateways(options GatewaysOptions) (*Gateways, error) {
	o := options
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	switch {
	case o.Clients == nil || o.Clock == nil || o.Log == nil:
		return nil, errors.New("options of the gateway lack Clients, Clock or Log")
	case o.Gateway.Name == "" || o.Gateway.Namespace == "":
		return nil, errors.New("options of the gateway lack its name or namespace")
	}
	g := &Gateways{options: o, looking: make(chan struct{}, 1)}
	g.found.Store(&lookup{})
	return g, nil
}

// GatewayAddress returns the host name of the gateway's Service inside the cluster,
// without a port. It is looked up again every minute, and every five seconds while
// there is none; an address that was found keeps counting while the API server
// cannot be asked, or does not answer before the context ends. The error is
// [ErrNoGatewayService] or what the API server said.
func (g *Gateways) GatewayAddress(ctx context.Context) (string, error) {
	if f := g.found.Load(); g.options.Clock.Now().Before(f.until) {
		return f.address, f.err
	}
	select {
	case g.looking <- struct{}{}:
		defer func() { <-g.looking }()
	case <-ctx.Done():
		if f := g.found.Load(); f.address != "" {
			return f.address, nil
		}
		return "", fmt.Errorf("wait for the address of Gateway %s: %w", g.options.Gateway, ctx.Err())
	}
	before, now := g.found.Load(), g.options.Clock.Now()
	if now.Before(before.until) {
		return before.address, before.err // Somebody else has just looked.
	}
	address, err := g.lookUp(ctx)
	if err != nil && ctx.Err() != nil && before.address == "" {
		return "", err // It says nothing about the gateway.
	}
	after := &lookup{address: address, err: err, until: now.Add(foundFor)}
	if err != nil {
		after.until = now.Add(missedFor)
		if !errors.Is(err, ErrNoGatewayService) && before.address != "" {
			after.address, after.err = before.address, nil
		}
	}
	if after.address != before.address || (after.err == nil) != (before.err == nil) {
		g.options.Log.Info("Looked up the gateway's Service", "gateway", g.options.Gateway.String(), "address", after.address, "error", err)
	}
	g.found.Store(after)
	return after.address, after.err
}

func (g *Gateways) lookUp(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.options.Timeout)
	defer cancel()
	services, err := g.options.Clients.core.Services(g.options.Gateway.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{labelGatewayName: g.options.Gateway.Name}.String(),
	})
	if err != nil {
		return "", fmt.Errorf("list the Services of Gateway %s: %w", g.options.Gateway, err)
	}
	var found []string
	for i := range services.Items {
		if serves(&services.Items[i], g.options.Gateway.Name) {
			found = append(found, services.Items[i].Name)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("find the Service of Gateway %s, of which there are %d: %w", g.options.Gateway, len(found), ErrNoGatewayService)
	}
	return found[0] + "." + g.options.Gateway.Namespace + ".svc.cluster.local", nil
}

// serves tells whether a Service is owned by the Gateway and has the port of HTTPS.
// The label alone does not count: anybody who may create Services can set it.
func serves(s *corev1.Service, gateway string) bool {
	owned := slices.ContainsFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "Gateway" && o.Name == gateway && strings.HasPrefix(o.APIVersion, gwapiv1.GroupName+"/")
	})
	return owned && slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == portHTTPS })
}

// External returns what clients outside the cluster reach the gateway at. The error
// is [ErrNoHost], or one of the API server, which package apierrors tells apart.
func (g *Gateways) External(ctx context.Context) (External, error) {
	ctx, cancel := context.WithTimeout(ctx, g.options.Timeout)
	defer cancel()
	object, err := g.options.Clients.dynamic.Resource(gateways).Namespace(g.options.Gateway.Namespace).Get(ctx, g.options.Gateway.Name, metav1.GetOptions{})
	if err != nil {
		return External{}, fmt.Errorf("read Gateway %s: %w", g.options.Gateway, err)
	}
	gateway := &gwapiv1.Gateway{}
	if err := decode(object, gateway); err != nil {
		return External{}, fmt.Errorf("read Gateway %s: %w", g.options.Gateway, err)
	}
	return ExternalOf(gateway)
}
