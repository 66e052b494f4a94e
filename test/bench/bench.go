// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/opendatahub-io/maas-operator/test/stage"
)

// scenario is one row of the table of scenarios.
type scenario struct {
	name, title string
	run         func(context.Context, *world, *Scenario) error
}

func scenarios() []scenario {
	return []scenario{
		{"burst", "subscriptions created at once on one model, then one more, then nothing", burst},
		{"wide", "many subscriptions on one model, then one more, then nothing", wide},
		{"many", "many models with a few subscriptions each, then nothing, then a restart", many},
	}
}

// Run measures all scenarios asked for, each on a control plane of its own, and
// tells the writer what it does.
func Run(ctx context.Context, o Options, out io.Writer) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	told := &progress{out: out, began: time.Now()}
	if o.Profiles != "" {
		if err := os.MkdirAll(o.Profiles, 0o755); err != nil {
			return nil, fmt.Errorf("create directory of profiles: %w", err)
		}
	}
	r := &Report{Environment: describeHost(ctx), Options: o}
	if o.Binary == "" {
		dir, err := os.MkdirTemp("", "maas-bench-")
		if err != nil {
			return nil, fmt.Errorf("create a directory: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // It holds what can be built again.
		told.step("building the operator")
		if o.Binary, err = stage.Build(ctx, dir); err != nil {
			return nil, err
		}
	}
	for _, s := range scenarios() {
		if !slices.Contains(o.Scenarios, s.name) {
			continue
		}
		w := &world{options: o, progress: told, name: s.name}
		result := Scenario{Name: s.name, Title: s.title}
		if err := w.perform(ctx, s, &result); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.name, err)
		}
		r.Scenarios = append(r.Scenarios, result)
		r.Environment.Kubernetes = w.kubernetes
	}
	return r, nil
}

// perform runs one scenario between the start and the end of a stage.
func (w *world) perform(ctx context.Context, s scenario, result *Scenario) (err error) {
	if err := w.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	end, err := w.profileSelf()
	if err != nil {
		return err
	}
	return errors.Join(s.run(ctx, w, result), end())
}

// progress tells a person what happens, with the time since the start.
type progress struct {
	out   io.Writer
	began time.Time
}

func (p *progress) step(format string, args ...any) {
	fmt.Fprintf(p.out, "%7s  %s\n", time.Since(p.began).Round(time.Second), fmt.Sprintf(format, args...))
}
