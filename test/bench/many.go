// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// many measures a cluster of the size the project is made for.
func many(ctx context.Context, w *world, s *Scenario) error {
	if err := w.operate(ctx); err != nil {
		return err
	}
	if err := w.fill(ctx, s); err != nil {
		return err
	}
	if err := w.sizes(ctx, modelKey(0), s); err != nil {
		return err
	}
	if err := w.renderTime(ctx, s, modelKey(0)); err != nil {
		return err
	}
	if err := w.idle(ctx, s); err != nil {
		return err
	}
	if err := w.memory(ctx, s); err != nil {
		return err
	}
	return w.restart(ctx, s)
}

// fill creates all models and subscriptions while the operator runs.
func (w *world) fill(ctx context.Context, s *Scenario) error {
	models, each := w.options.Models, w.options.PerModel
	w.say("creating %d models with %d subscriptions each", models, each)
	end := w.profile(ctx, "fill")
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	err = w.each(ctx, models, func(ctx context.Context, i int) error {
		if err := w.model(ctx, i); err != nil {
			return err
		}
		for j := range each {
			if err := w.create(ctx, subscription(fmt.Sprintf("s-%04d-%d", i, j), j, modelKey(i))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.add("created after", Seconds, time.Since(begin.at).Seconds())
	w.say("all are created")
	at, err := w.await(ctx, models*each)
	if err != nil {
		return err
	}
	s.add("all Active after", Seconds, at.Sub(begin.at).Seconds())
	made, err := w.settle(ctx, begin)
	if err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	s.add("calls per model", Ratio, made.count()/float64(models))
	s.add("writes of the TokenRateLimitPolicy per model", Ratio, made.count(limitWrites())/float64(models))
	s.add("status writes per subscription", Ratio, made.count(subscriptionStatusWrites())/float64(models*each))
	s.add("status writes per model", Ratio, made.count(modelStatusWrites())/float64(models))
	return w.common(ctx, s, begin, made)
}

// restart ends the operator and measures what a new one does with the same
// cluster: it remembers nothing and has nothing to change.
func (w *world) restart(ctx context.Context, s *Scenario) error {
	w.say("restarting the operator")
	if err := w.stage.Operator.Stop(); err != nil {
		return fmt.Errorf("stop the operator: %w", err)
	}
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	if err := w.stage.Operator.Start(ctx); err != nil {
		return err
	}
	ready := time.Since(begin.at)
	if err := w.rest(ctx, s, begin); err != nil {
		return err
	}
	made, err := w.settle(ctx, begin)
	if err != nil {
		return err
	}
	const policies = 2 // of each model
	s.add("restart: ready after", Seconds, ready.Seconds())
	s.add("restart: all calls", Count, made.count())
	s.add("restart: dry runs per policy", Ratio, made.count(dryRuns())/float64(policies*w.options.Models), atMost(1))
	s.add("restart: writes", Count, made.count(storedWrites()), atMost(0))
	held, err := memoryOf(w.stage.Operator.PID())
	if err != nil {
		return err
	}
	s.add("restart: memory of the process", MiB, held.now, aimingAt(aimOfMemory))
	s.add("restart: memory of the process, peak", MiB, held.peak, aimingAt(aimOfMemory))
	return w.heap(ctx, "restart")
}

// rest waits until the restarted operator has looked at every object, and then at
// none for a while: looks make no calls when nothing has changed.
func (w *world) rest(ctx context.Context, s *Scenario, begin mark) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the restarted operator does not come to rest"))
	defer cancel()
	objects := float64(w.options.Models * (1 + 1 + w.options.PerModel)) // with one auth policy each
	var looks float64
	var used, last mark
	for last.at.IsZero() || looks < objects || used.at.Sub(last.at) < quiet {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%.0f reconciles of %.0f objects: %w", looks, objects, context.Cause(ctx))
		case <-time.After(quietPoll):
		}
		var err error
		if used, err = w.mark(ctx); err != nil {
			return err
		}
		if now := used.metrics.Sum(reconcileTotal); now != looks || last.at.IsZero() {
			looks, last = now, used
		}
	}
	s.add("restart: last reconcile after", Seconds, last.at.Sub(begin.at).Seconds())
	s.add("restart: reconciles", Runs, looks)
	s.add("restart: processor time", Seconds, used.seconds)
	return nil
}
