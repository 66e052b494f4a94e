// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scale is how much the scenarios create.
type Scale struct {
	// Burst is the number of subscriptions of scenario "burst", Wide that of
	// "wide"; both are on one model.
	Burst int `json:"burst"`
	Wide  int `json:"wide"`
	// Models and PerModel are the models of "many" and the subscriptions of each.
	Models   int `json:"models"`
	PerModel int `json:"perModel"`
}

// Options say what to measure.
type Options struct {
	Scale
	// Scenarios are the names of those to run, of [Scenarios].
	Scenarios []string `json:"scenarios"`
	// Repeat is how often "burst" is measured; the others run once.
	Repeat int `json:"repeat"`
	// Writers is how many objects are created at the same time.
	Writers int `json:"writers"`
	// Idle is how long a converged cluster is watched for calls.
	Idle time.Duration `json:"idle"`
	// Binary is the operator's program; empty means build it from the sources.
	Binary string `json:"binary,omitempty"`
	// Profiles is a directory for CPU and heap profiles; empty takes none.
	Profiles string `json:"-"`
}

// DefaultOptions are the sizes the project promises something about.
func DefaultOptions() Options {
	return Options{
		Scale:     Scale{Burst: 300, Wide: 2000, Models: 1000, PerModel: 5},
		Scenarios: Scenarios(), Repeat: 3, Writers: 8, Idle: 30 * time.Second,
	}
}

// Scenarios are the names of all scenarios, in the order in which they run.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

// Validate names every option that cannot be used, and what to do.
func (o *Options) Validate() error {
	var errs []error
	for name, value := range map[string]int{"burst": o.Burst, "wide": o.Wide, "models": o.Models, "per-model": o.PerModel, "repeat": o.Repeat, "writers": o.Writers} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d: use a positive number", name, value))
		}
	}
	if o.Idle < quiet {
		errs = append(errs, fmt.Errorf("--idle is %s: use at least %s, or late echoes are not seen", o.Idle, quiet))
	}
	if len(o.Scenarios) == 0 {
		errs = append(errs, fmt.Errorf("no scenario is named: use some of %s", strings.Join(Scenarios(), ", ")))
	}
	for _, name := range o.Scenarios {
		if !slices.Contains(Scenarios(), name) {
			errs = append(errs, fmt.Errorf("there is no scenario %q: use some of %s", name, strings.Join(Scenarios(), ", ")))
		}
	}
	return errors.Join(errs...)
}
