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

	"github.com/opendatahub-io/maas-operator/test/internal/program"
)

// scenario is one row of the table of scenarios: of the operator, or of maas-api.
type scenario struct {
	name, title string
	run         func(context.Context, *world, *Scenario) error
	serve       func(context.Context, *serving, *Scenario) error
}

func scenarios() []scenario {
	return []scenario{
		{name: "burst", title: "subscriptions created at once on one model, then one more, then nothing", run: burst},
		{name: "wide", title: "many subscriptions on one model, then one more, then nothing", run: wide},
		{name: "many", title: "many models with a few subscriptions each, then nothing, then a restart", run: many},
		{name: "requests", title: "what the gateway asks maas-api for every request of a model, by clients and subscriptions", serve: requests},
		{name: "stored", title: "maas-api beside very many keys: start, memory, and requests at a rate", serve: stored},
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
	dir, err := os.MkdirTemp("", "maas-bench-")
	if err != nil {
		return nil, fmt.Errorf("create a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // It holds what can be built again.
	for _, s := range scenarios() {
		if !slices.Contains(o.Scenarios, s.name) {
			continue
		}
		result := Scenario{Name: s.name, Title: s.title}
		if err := o.build(ctx, s, dir, told); err != nil {
			return nil, err
		}
		if r.Environment.Kubernetes, err = o.perform(ctx, s, told, &result); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.name, err)
		}
		r.Scenarios = append(r.Scenarios, result)
	}
	return r, nil
}

// build compiles the program of a scenario, unless one was given.
func (o *Options) build(ctx context.Context, s scenario, dir string, told *progress) (err error) {
	binary, name := &o.Binary, "maas-controller"
	if s.serve != nil {
		binary, name = &o.ServiceBinary, "maas-api"
	}
	if *binary == "" {
		told.step("building %s", name)
		*binary, err = program.Build(ctx, dir, name)
	}
	return err
}

// perform runs one scenario and returns the version of the API server.
func (o *Options) perform(ctx context.Context, s scenario, told *progress, result *Scenario) (string, error) {
	if s.serve != nil {
		w := &serving{options: *o, progress: told, name: s.name}
		err := w.perform(ctx, s, result)
		return w.kubernetes, err
	}
	w := &world{options: *o, progress: told, name: s.name}
	err := w.perform(ctx, s, result)
	return w.kubernetes, err
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
