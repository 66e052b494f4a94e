// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Stop ends the listeners in an order that loses no request: first the process
// says that it is not ready, then it serves on while load balancers hear of it and
// clients give up the connections that they have, then it takes no more connections and finishes the requests in flight.
type Stop struct {
	Health *Health
	Clock  clock.Clock
	Log    *slog.Logger
	// Drain is how long to serve on as not ready.
	Drain time.Duration
	// Timeout is how long requests in flight may take after that.
	Timeout time.Duration
	// Listeners end together. The metrics listener is none of them: it shows how
	// the process stops.
	Listeners []*Listener
}

// Run stops the listeners. It returns an error when requests in flight had to be
// cut off. A context that ends shortens the drain.
func (s Stop) Run(ctx context.Context) error {
	s.Health.Drain()
	for _, l := range s.Listeners {
		l.Leave()
	}
	s.Log.Info("Stopping", slog.Duration("drain", s.Drain), slog.Duration("timeout", s.Timeout))
	s.wait(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Timeout)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(s.Listeners))
	for i, l := range s.Listeners {
		wg.Go(func() { errs[i] = l.Shutdown(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s Stop) wait(ctx context.Context) {
	if s.Drain <= 0 {
		return
	}
	timer := s.Clock.NewTimer(s.Drain)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}
