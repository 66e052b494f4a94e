// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins"
	"github.com/opendatahub-io/maas-operator/test/standins/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

const (
	// quiet is how long the operator must have asked for nothing to count as
	// done; longer than any pause it makes on purpose.
	quiet     = 5 * time.Second
	quietPoll = 250 * time.Millisecond
	// The stand-in for Kuadrant answers soon: its time is not the operator's.
	shortestLag = 10 * time.Millisecond
	longestLag  = 50 * time.Millisecond
	// patience ends a scenario that does not come to its end.
	patience = 20 * time.Minute
)

// world is a stage with what a scenario measures by.
type world struct {
	options  Options
	progress *progress
	name     string

	stage      *stage.Stage
	kubernetes string
	pprof      string
	active     *watcher
}

// start sets up a control plane with everything but the operator.
func (w *world) start(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard()) // The stand-ins have nothing to tell the user.
	w.say("starting a control plane")
	o := stage.Options{
		Binary: w.options.Binary, WithoutOperator: true,
		Standins: standins.Options{Kuadrant: kuadrant.Options{Lag: kuadrant.Between(shortestLag, longestLag)}},
	}
	if w.options.Profiles != "" {
		address, err := testenv.FreeAddress(ctx)
		if err != nil {
			return err
		}
		w.pprof = address
		o.Args = append(o.Args, "--pprof-bind-address="+address)
	}
	var err error
	if w.stage, err = stage.Start(ctx, o); err != nil {
		return err
	}
	w.kubernetes, err = serverVersion(w.stage.Env.AdminConfig())
	if err == nil {
		w.active, err = watchActive(ctx, w.stage.Env.AdminConfig())
	}
	if err != nil {
		return errors.Join(err, w.stage.Stop())
	}
	return nil
}

func (w *world) stop() error {
	w.active.stop()
	return w.stage.Stop()
}

func (w *world) say(format string, args ...any) {
	w.progress.step(w.name+": "+format, args...)
}

// mark is a moment, for the audit log, and what the process had used.
type mark struct {
	log     audit.Mark
	at      time.Time
	seconds float64
	metrics scrape.Samples
}

func (w *world) mark(ctx context.Context) (m mark, err error) {
	m.log = audit.Now()
	if !w.stage.Operator.Alive() {
		m.at, m.metrics = time.Now(), scrape.Samples{}
		return m, nil
	}
	if m.seconds, err = processorTime(w.stage.Operator.PID()); err != nil {
		return m, err
	}
	m.metrics, err = scrape.Get(ctx, w.stage.Operator.MetricsURL())
	m.at = time.Now()
	return m, err
}

// since returns the operator's calls after a mark.
func (w *world) since(m mark) (calls, error) { return callsSince(w.stage.Env.Audit(), m.log) }

// settle waits until the operator asks for nothing more and returns its calls
// since the mark.
func (w *world) settle(ctx context.Context, m mark) (calls, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the operator does not come to rest"))
	defer cancel()
	tick := time.NewTicker(quietPoll)
	defer tick.Stop()
	for {
		made, err := w.since(m)
		if err != nil {
			return nil, err
		}
		if time.Since(m.at) > quiet && time.Since(made.last()) > quiet {
			return made, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// reconcileTotal is the metric that counts reconciles.
const reconcileTotal = "controller_runtime_reconcile_total"

// reconciles returns how many reconciles a controller ended since the mark.
func (m mark) reconciles(now mark, controller string) float64 {
	part := fmt.Sprintf("controller=%q", controller)
	return now.metrics.Sum(reconcileTotal, part) - m.metrics.Sum(reconcileTotal, part)
}

// each calls work for every number below n from several goroutines, and ends at
// the first error.
func (w *world) each(ctx context.Context, n int, work func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var group sync.WaitGroup
	for range w.options.Writers {
		group.Go(func() {
			for i := range numbers {
				if err := work(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	return context.Cause(ctx)
}
