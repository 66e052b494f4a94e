// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"reflect"
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

// ServiceScale is how much the scenarios of maas-api ask for.
type ServiceScale struct {
	// Keys are stored in scenario "requests", Stored in "stored"; InUse of them are
	// asked about.
	Keys   int `json:"keys"`
	Stored int `json:"stored"`
	InUse  int `json:"inUse"`
	// Subscriptions and Clients are the numbers that are varied, in rising order.
	Subscriptions []int `json:"subscriptions"`
	Clients       []int `json:"clients"`
	// Rate is how many requests of models there are in a second, Measure how long
	// each measurement lasts.
	Rate    int           `json:"rate"`
	Measure time.Duration `json:"measure"`
}

// Equal tells whether two scales are the same.
func (s ServiceScale) Equal(other ServiceScale) bool { return reflect.DeepEqual(s, other) }

// Options say what to measure.
type Options struct {
	Scale
	Service ServiceScale `json:"service"`
	// Scenarios are the names of those to run, of [Scenarios].
	Scenarios []string `json:"scenarios"`
	// Repeat is how often "burst" and "requests" are measured; the others run once.
	Repeat int `json:"repeat"`
	// Writers is how many objects are created at the same time.
	Writers int `json:"writers"`
	// Idle is how long a converged cluster is watched for calls.
	Idle time.Duration `json:"idle"`
	// Binary is the operator's program; empty means build it from the sources.
	Binary string `json:"binary,omitempty"`
	// ServiceBinary is maas-api's program; empty means build it from the sources.
	ServiceBinary string `json:"serviceBinary,omitempty"`
	// Profiles is a directory for CPU and heap profiles; empty takes none.
	Profiles string `json:"-"`
}

// DefaultOptions are the sizes the project promises something about.
func DefaultOptions() Options {
	return Options{
		Scale: Scale{Burst: 300, Wide: 2000, Models: 1000, PerModel: 5},
		Service: ServiceScale{
			Keys: 100_000, Stored: 1_000_000, InUse: 10_000, Rate: 5000, Measure: 3 * time.Second,
			Subscriptions: []int{20, 100, 500, 1000}, Clients: []int{1, 8, 32, 128},
		},
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
	for name, value := range map[string]int{
		"burst": o.Burst, "wide": o.Wide, "models": o.Models, "per-model": o.PerModel, "repeat": o.Repeat, "writers": o.Writers,
		"keys": o.Service.Keys, "stored": o.Service.Stored, "in-use": o.Service.InUse, "rate": o.Service.Rate,
	} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("--%s is %d: use a positive number", name, value))
		}
	}
	if o.Idle < quiet {
		errs = append(errs, fmt.Errorf("--idle is %s: use at least %s, or late echoes are not seen", o.Idle, quiet))
	}
	errs = append(errs, o.Service.validate())
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

func (s *ServiceScale) validate() error {
	var errs []error
	for name, values := range map[string][]int{"subscriptions": s.Subscriptions, "clients": s.Clients} {
		if len(values) == 0 || slices.Min(values) < 1 || !slices.IsSorted(values) {
			errs = append(errs, fmt.Errorf("--%s is %v: use positive numbers in rising order", name, values))
		}
	}
	if s.InUse > min(s.Keys, s.Stored) {
		errs = append(errs, fmt.Errorf("--in-use is %d: no more keys can be used than are stored, see --keys and --stored", s.InUse))
	}
	if s.Measure < warmUp {
		errs = append(errs, fmt.Errorf("--measure is %s: use at least %s", s.Measure, warmUp))
	}
	return errors.Join(errs...)
}
