// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tlsprofile"
	"github.com/opendatahub-io/maas-operator/internal/tlsprofile/follow"
)

// tlsParameters are what the listeners of this program offer. They may change at any
// time: connections stay, and new handshakes use the new ones.
type tlsParameters struct {
	current atomic.Pointer[tlsprofile.Parameters]
}

func newTLSParameters() *tlsParameters {
	p := &tlsParameters{}
	p.apply(tlsprofile.Intermediate())
	return p
}

func (p *tlsParameters) apply(parameters tlsprofile.Parameters) { p.current.Store(&parameters) }

// listener adjusts the configuration of one listener. The certificate is put into it
// after this, so each handshake looks at the whole of it.
func (p *tlsParameters) listener(protocols ...string) func(*tls.Config) {
	return func(outer *tls.Config) {
		outer.NextProtos = protocols
		p.shape(outer)
		outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			inner := outer.Clone()
			inner.GetConfigForClient = nil
			p.shape(inner)
			return inner, nil
		}
	}
}

func (p *tlsParameters) shape(c *tls.Config) {
	parameters := p.current.Load()
	c.MinVersion, c.CipherSuites = max(parameters.MinVersion, tls.VersionTLS12), parameters.CipherSuites
	if !parameters.HTTP2() {
		c.NextProtos = []string{"http/1.1"}
	}
}

// follower keeps the parameters those of the cluster, on every replica.
type follower struct {
	profile *follow.Profile
	to      *tlsParameters
}

// Start implements manager.Runnable.
func (f follower) Start(ctx context.Context) error { return f.profile.Follow(ctx, f.to.apply) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (follower) NeedLeaderElection() bool { return false }

// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers,resourceNames=cluster,verbs=get;list;watch

// followCluster has the listeners offer what the cluster demands; only OpenShift
// demands anything.
func (p *tlsParameters) followCluster(ctx context.Context, mgr ctrl.Manager, platform facts.Platform) error {
	if platform != facts.OpenShift {
		return nil
	}
	client, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("create a client for the TLS profile: %w", err)
	}
	profile := follow.New(client, clock.RealClock{}, slog.New(logr.ToSlogHandler(ctrl.LoggerFrom(ctx).WithName("tls-profile"))))
	parameters, served := profile.Fetch(ctx)
	p.apply(parameters)
	if !served {
		return nil
	}
	if err := mgr.Add(follower{profile, p}); err != nil {
		return fmt.Errorf("follow the TLS profile: %w", err)
	}
	return nil
}
