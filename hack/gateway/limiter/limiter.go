// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limiter is a STAND-IN for Limitador, which cannot run here: it evaluates
// the limits that kuadrant-operator generates and counts in memory. It holds no
// limit of its own and knows nothing of who generated them.
//
// What it does as Limitador does, known from the public source of Limitador (crate
// limitador and its service for the gateway's filter):
//
//   - A limit applies to a request when all of its conditions hold and all of its
//     variables have a value; a key that is missing from the descriptors means that
//     it does not apply, any other failure of an expression fails the call.
//   - A check asks whether the counter plus one exceeds the largest value and
//     changes nothing; a report adds the usage, of which 0 counts as 1, and never
//     refuses. The request that crosses a limit is therefore served.
//   - Windows are fixed: one begins with the first report to a counter, or with the
//     first after the last one has ended.
//   - Two limits are the same when namespace, seconds, conditions and variables are.
//     New values of the others keep the counters; a limit that is removed loses
//     them; of two equal limits only the first counts, whatever the second allows.
//
// What it does not do: several replicas, storage, headers with what remains, and the
// delay with which the real one reads changed limits.
package limiter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// errDown is the failure of a limiter that is told to be down.
var errDown = errors.New("the limiter is down")

// Limiter counts. All methods may be called at the same time.
type Limiter struct {
	now func() time.Time

	mu       sync.Mutex
	limits   map[string][]*limit // By namespace.
	counters map[string]*counter
	down     bool
}

// counter is the present window of one set of values of a limit's variables.
type counter struct {
	limit  string // Its identity.
	values map[string]string
	value  uint64
	ends   time.Time
}

// Use is a limit that applied to a request.
type Use struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Max       uint64            `json:"max"`
	Seconds   int               `json:"seconds"`
	Variables map[string]string `json:"variables,omitempty"`
	// Value is what has been counted: before a check, after a report.
	Value uint64 `json:"value"`
	// Over tells that a check found the limit exhausted.
	Over bool `json:"over,omitempty"`
	// Ends is when the window ends; absent as long as none has begun.
	Ends *time.Time `json:"ends,omitempty"`
}

// New makes a limiter that reads the time from a clock.
func New(now func() time.Time) *Limiter {
	return &Limiter{now: now, limits: map[string][]*limit{}, counters: map[string]*counter{}}
}

// Configure replaces the limits. An error leaves everything as it was. The notes
// name limits that never count because an equal one stands before them.
func (l *Limiter) Configure(specs []Spec) (notes []string, err error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	limits, known := map[string][]*limit{}, map[string]*limit{}
	for _, spec := range specs {
		made, err := compile(env, spec)
		if err != nil {
			return nil, err
		}
		if first := known[made.id]; first != nil {
			notes = append(notes, fmt.Sprintf("limit %q of %d in namespace %q hides an equal one of %d", first.Name, first.MaxValue, spec.Namespace, spec.MaxValue))
			continue
		}
		known[made.id] = made
		limits[spec.Namespace] = append(limits[spec.Namespace], made)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
	maps.DeleteFunc(l.counters, func(_ string, c *counter) bool { return known[c.limit] == nil })
	return notes, nil
}

// Check tells whether a limit of the namespace that applies to the descriptors is
// exhausted.
func (l *Limiter) Check(namespace string, descriptors []map[string]string) (over bool, uses []Use, err error) {
	err = l.each(namespace, descriptors, func(limit *limit, values map[string]string) {
		use := l.use(limit, values)
		use.Over = use.Value >= limit.MaxValue // That is: with one more it is exceeded.
		over = over || use.Over
		uses = append(uses, use)
	})
	return over, uses, err
}

// Report adds hits to every counter of the namespace that applies.
func (l *Limiter) Report(namespace string, descriptors []map[string]string, hits uint64) (uses []Use, err error) {
	err = l.each(namespace, descriptors, func(limit *limit, values map[string]string) {
		key := keyOf(limit, values)
		c, now := l.counters[key], l.now()
		if c == nil || !now.Before(c.ends) {
			c = &counter{limit: limit.id, values: values, ends: now.Add(limit.window())}
			l.counters[key] = c
		}
		c.value += max(hits, 1)
		uses = append(uses, l.use(limit, values))
	})
	return uses, err
}

// each visits the limits that apply. None is visited when one cannot be evaluated.
func (l *Limiter) each(namespace string, descriptors []map[string]string, visit func(*limit, map[string]string)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return errDown
	}
	if namespace == "" {
		return errors.New("the request names no namespace")
	}
	type hit struct {
		limit  *limit
		values map[string]string
	}
	var hits []hit
	for _, limit := range l.limits[namespace] {
		values, ok, err := limit.resolve(descriptors)
		if err != nil {
			return fmt.Errorf("limit %q of namespace %q: %w", limit.Name, namespace, err)
		}
		if ok {
			hits = append(hits, hit{limit, values})
		}
	}
	for _, h := range hits {
		visit(h.limit, h.values)
	}
	return nil
}

// use describes a limit with its counter.
func (l *Limiter) use(limit *limit, values map[string]string) Use {
	use := Use{Namespace: limit.Namespace, Name: limit.Name, Max: limit.MaxValue, Seconds: limit.Seconds, Variables: values}
	if c := l.counters[keyOf(limit, values)]; c != nil && l.now().Before(c.ends) {
		use.Value, use.Ends = c.value, new(c.ends)
	}
	return use
}

func keyOf(limit *limit, values map[string]string) string {
	var b strings.Builder
	b.WriteString(limit.id)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, " %q=%q", name, values[name])
	}
	return b.String()
}

// Counters lists the counters whose window has not ended, in a fixed order.
func (l *Limiter) Counters() []Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, now := []Use{}, l.now()
	for _, namespace := range slices.Sorted(maps.Keys(l.limits)) {
		for _, limit := range l.limits[namespace] {
			for _, key := range slices.Sorted(maps.Keys(l.counters)) {
				if c := l.counters[key]; c.limit == limit.id && now.Before(c.ends) {
					out = append(out, l.use(limit, c.values))
				}
			}
		}
	}
	return out
}

// Limits counts the limits that are configured.
func (l *Limiter) Limits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, limits := range l.limits {
		n += len(limits)
	}
	return n
}

// Reset forgets all counters: every window begins anew.
func (l *Limiter) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.counters)
}

// SetDown makes every call fail, as if nobody answered, until it is taken back.
func (l *Limiter) SetDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}
