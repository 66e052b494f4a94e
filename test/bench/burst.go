// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// What the project promises of a burst, see the issue "complete, correct, fast".
const (
	mostLimitWrites  = 10
	mostStatusWrites = 2
	mostCallsForOne  = 5
	aimOfFloor       = 3
	aimOfMemory      = 256
)

// burst measures subscriptions that are created at once, as often as asked for.
func burst(ctx context.Context, w *world, s *Scenario) error {
	if err := w.model(ctx, 0); err != nil {
		return err
	}
	n := w.options.Burst
	for i := range w.options.Repeat {
		w.say("round %d of %d: the server's floor for %d subscriptions", i+1, w.options.Repeat, n)
		floor, err := w.floor(ctx, n, modelKey(0))
		if err != nil {
			return err
		}
		if err := w.operate(ctx); err != nil {
			return err
		}
		if err := w.atOnce(ctx, s, n, floor); err != nil {
			return err
		}
		s.bound("writes of the TokenRateLimitPolicy", mostLimitWrites)
		if err := w.oneMore(ctx, s, n); err != nil {
			return err
		}
		if err := w.idle(ctx, s); err != nil {
			return err
		}
		if err := w.memory(ctx, s); err != nil {
			return err
		}
		if err := w.clear(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wide measures one model with very many subscriptions.
func wide(ctx context.Context, w *world, s *Scenario) error {
	if err := w.model(ctx, 0); err != nil {
		return err
	}
	n := w.options.Wide
	w.say("the server's floor for %d subscriptions", n)
	floor, err := w.floor(ctx, n, modelKey(0))
	if err != nil {
		return err
	}
	if err := w.operate(ctx); err != nil {
		return err
	}
	if err := w.atOnce(ctx, s, n, floor); err != nil {
		return err
	}
	if err := w.oneMore(ctx, s, n); err != nil {
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
	return w.memory(ctx, s)
}

// operate starts the operator and lets it come to rest.
func (w *world) operate(ctx context.Context) error {
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	if err := w.stage.Operator.Start(ctx); err != nil {
		return err
	}
	_, err = w.settle(ctx, begin)
	return err
}

// atOnce creates subscriptions to one model and measures until all are Active.
func (w *world) atOnce(ctx context.Context, s *Scenario, n int, floor time.Duration) error {
	w.say("creating %d subscriptions at once", n)
	end := w.profile(ctx, "burst")
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	if err := w.subscribe(ctx, n, modelKey(0)); err != nil {
		return err
	}
	created := time.Since(begin.at)
	at, err := w.await(ctx, n)
	if err != nil {
		return err
	}
	active := at.Sub(begin.at)
	made, err := w.settle(ctx, begin)
	if err != nil {
		return err
	}
	if err := end(); err != nil {
		return err
	}
	s.add("created after", Seconds, created.Seconds())
	s.add("all Active after", Seconds, active.Seconds())
	s.add("the server's floor", Seconds, floor.Seconds())
	s.add("until Active / floor", Ratio, active.Seconds()/floor.Seconds(), aimingAt(aimOfFloor))
	s.add("writes of the TokenRateLimitPolicy", Count, made.count(limitWrites()))
	s.add("status writes per subscription", Ratio, made.count(subscriptionStatusWrites())/float64(n), atMost(mostStatusWrites))
	return w.common(ctx, s, begin, made)
}

// common records what interests after every piece of work.
func (w *world) common(ctx context.Context, s *Scenario, begin mark, made calls) error {
	now, err := w.mark(ctx)
	if err != nil {
		return err
	}
	s.add("all calls", Count, made.count())
	s.add("status writes of models", Count, made.count(modelStatusWrites()))
	s.add("writes of AuthPolicies", Count, made.count(accessWrites()))
	s.add("dry runs", Count, made.count(dryRuns()))
	s.add("refused calls", Count, made.count(refused()))
	s.add("server time of a TokenRateLimitPolicy's write", Millis, median(made.where(limitWrites()).millis()))
	s.add("processor time", Seconds, now.seconds-begin.seconds)
	for _, c := range []string{"modelref", "modelpolicy", "authpolicy", "subscription"} {
		s.add("reconciles of "+c, Runs, begin.reconciles(now, c))
	}
	return nil
}

// oneMore adds a subscription to a model that has n.
func (w *world) oneMore(ctx context.Context, s *Scenario, n int) error {
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	if err := w.create(ctx, subscription("one-more", 0, modelKey(0))); err != nil {
		return err
	}
	at, err := w.await(ctx, n+1)
	if err != nil {
		return err
	}
	made, err := w.settle(ctx, begin)
	if err != nil {
		return err
	}
	s.add("one more: calls", Count, made.count(), atMost(mostCallsForOne))
	s.add("one more: Active after", Seconds, at.Sub(begin.at).Seconds())
	return nil
}

// idle watches a cluster in which nothing happens.
func (w *world) idle(ctx context.Context, s *Scenario) error {
	w.say("watching the operator do nothing for %s", w.options.Idle)
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(w.options.Idle):
	}
	made, err := w.since(begin)
	if err != nil {
		return err
	}
	now, err := w.mark(ctx)
	if err != nil {
		return err
	}
	s.add("idle: writes", Count, made.count(audit.IsWrite()), atMost(0))
	s.add("idle: other calls", Count, made.count(audit.Not(audit.IsWrite())))
	s.add("idle: reconciles", Runs, now.metrics.Sum(reconcileTotal)-begin.metrics.Sum(reconcileTotal))
	return nil
}

// memory records what the process holds and held at most.
func (w *world) memory(ctx context.Context, s *Scenario) error {
	held, err := memoryOf(w.stage.Operator.PID())
	if err != nil {
		return err
	}
	page, err := scrape.Get(ctx, w.stage.Operator.MetricsURL())
	if err != nil {
		return err
	}
	s.add("memory of the process", MiB, held.now, aimingAt(aimOfMemory))
	s.add("memory of the process, peak", MiB, held.peak, aimingAt(aimOfMemory))
	s.add("heap in use", MiB, page.Sum("go_memstats_heap_inuse_bytes")/bytesPerMiB)
	s.add("goroutines", Objects, page.Sum("go_goroutines"))
	return w.heap(ctx, "idle")
}

// clear takes the subscriptions away and ends the operator.
func (w *world) clear(ctx context.Context) error {
	begin, err := w.mark(ctx)
	if err != nil {
		return err
	}
	if err := w.unsubscribe(ctx); err != nil {
		return err
	}
	if _, err := w.settle(ctx, begin); err != nil {
		return err
	}
	if err := w.stage.Operator.Stop(); err != nil {
		return fmt.Errorf("stop the operator: %w", err)
	}
	return nil
}
