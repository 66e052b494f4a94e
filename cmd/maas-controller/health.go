// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

var (
	// errCaches is what /readyz says until the first copy of the cluster is complete.
	errCaches = errors.New("the caches are not filled yet")
	// errMetrics is what it says until the metrics are served. If their address is taken,
	// the manager notices only once it runs, with caches filled.
	errMetrics = errors.New("the metrics are not served yet")
)

// listening notices that the server of the metrics listens.
type listening struct{ begun atomic.Bool }

func (l *listening) begin() { l.begun.Store(true) }

func (l *listening) check(*http.Request) error {
	if !l.begun.Load() {
		return errMetrics
	}
	return nil
}

// syncer notices when the caches are filled for the first time. It runs on every
// replica: one that waits for the lease is ready too.
type syncer struct {
	wait   func(context.Context) bool
	synced atomic.Bool
}

// Start implements manager.Runnable.
func (s *syncer) Start(ctx context.Context) error {
	if s.wait(ctx) {
		s.synced.Store(true)
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*syncer) NeedLeaderElection() bool { return false }

func (s *syncer) check(*http.Request) error {
	if !s.synced.Load() {
		return errCaches
	}
	return nil
}

// addProbes makes /healthz answer while the process does, and /readyz only once the
// caches are filled.
func addProbes(mgr ctrl.Manager) error {
	s := &syncer{wait: mgr.GetCache().WaitForCacheSync}
	if err := mgr.Add(s); err != nil {
		return fmt.Errorf("watch the caches: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", s.check); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}
