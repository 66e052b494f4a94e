// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// kill is one end of the operator: some time after a step, or with that many writes
// after it, whichever comes first; and then a while without an operator.
type kill struct {
	delay  time.Duration
	writes int
	down   time.Duration
}

func (p *planner) drawKill() *kill {
	k := &kill{delay: time.Duration(p.IntN(1200)) * time.Millisecond}
	if p.chance(60) {
		k.delay, k.writes = 2*time.Second, 1+p.IntN(30)
	}
	if p.chance(50) {
		k.down = time.Duration(p.IntN(600)) * time.Millisecond
	}
	return k
}

func (k *kill) String() string {
	after := k.delay.String()
	if k.writes > 0 {
		after += fmt.Sprintf(" or %d writes", k.writes)
	}
	return fmt.Sprintf("kill the operator after %s, for %s", after, k.down)
}

// killer ends the operator while other things happen, and starts it again.
type killer struct {
	operator *stage.Operator
	audit    *audit.Log
	say      func(string)

	mu    sync.Mutex // One kill at a time.
	group sync.WaitGroup
	// count and err are read after wait.
	count int
	err   error
}

// begin kills the operator in the background.
func (k *killer) begin(ctx context.Context, how *kill) {
	k.group.Go(func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.count++
		k.err = errors.Join(k.err, k.kill(ctx, how))
	})
}

func (k *killer) kill(ctx context.Context, how *kill) error {
	if err := k.await(ctx, how); err != nil {
		return err
	}
	if err := k.operator.Kill(); err != nil {
		return fmt.Errorf("kill the operator: %w", err)
	}
	k.say("the operator is dead")
	if err := pause(ctx, how.down); err != nil {
		return err
	}
	if err := k.operator.Start(ctx); err != nil {
		return fmt.Errorf("start the operator again: %w", err)
	}
	k.say("the operator runs again")
	return nil
}

// await waits for the moment.
func (k *killer) await(ctx context.Context, how *kill) error {
	if how.writes == 0 {
		return pause(ctx, how.delay)
	}
	const poll = 3 * time.Millisecond
	mark := audit.Now()
	for end := time.Now().Add(how.delay); time.Now().Before(end); {
		writes, err := k.audit.After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Not(audit.IsEvent()))
		if err != nil || len(writes) >= how.writes {
			return err
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until all kills are done.
func (k *killer) wait() error {
	k.group.Wait()
	return k.err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
