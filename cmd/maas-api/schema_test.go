// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

var epoch = time.Date(2026, time.August, 1, 10, 0, 0, 0, time.UTC)

// until returns when the condition holds.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatal("waited for too long")
		}
	}
}

// answers is a database whose schema is looked at.
type answers struct {
	mu       sync.Mutex
	found    bool
	replaced bool
	err      error
	looks    int
}

func (a *answers) Replaced(context.Context) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.replaced, a.err
}

func (a *answers) Migrated(context.Context) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks++
	return a.found, a.err
}

func (a *answers) set(found bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found, a.err = found, err
}

func (a *answers) looked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.looks
}

func TestServiceIsReadyOnlyWithItsSchema(t *testing.T) {
	t.Parallel()
	database, fake := &answers{}, clocktesting.NewFakeClock(epoch)
	s := &schemaWatch{database: database, clock: fake}
	if s.Ready() == nil {
		t.Error("ready before anybody looked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	until(t, fake.HasWaiters)
	for _, step := range []struct {
		name  string
		found bool
		err   error
		want  error
	}{
		{"an older schema", false, nil, errSchema},
		{"that was migrated meanwhile", true, nil, nil},
		{"a database that does not answer", false, errors.New("connection refused"), nil},
		{"one that was put back", false, nil, errSchema},
		{"and does not answer", false, errors.New("connection refused"), errSchema},
		{"migrated again", true, nil, nil},
	} {
		database.set(step.found, step.err)
		before := database.looked()
		fake.Step(lookEvery)
		until(t, func() bool { return database.looked() > before })
		t.Log(step.name)
		until(t, func() bool { return errors.Is(s.Ready(), step.want) })
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServiceOfAReplacedTenantIsNotReady(t *testing.T) {
	t.Parallel()
	database := &answers{found: true}
	s := &schemaWatch{database: database, clock: clocktesting.NewFakeClock(epoch)}
	for _, replaced := range []bool{false, true} {
		database.replaced = replaced
		if err := s.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := errors.Is(s.Ready(), errReplaced); got != replaced {
			t.Errorf("replaced %t: %v", replaced, s.Ready())
		}
	}
}
