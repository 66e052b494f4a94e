// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// memory bounds the answers that are in memory on their way to clients, in bytes.
	memory = 64 << 20
	// perUser is how many requests of one user are worked on at a time, and waiting how
	// many more may wait.
	perUser = 3
	waiting = 16
	// patience is how long a request waits for its turn.
	patience = 15 * time.Second
)

var (
	errTooMany = errors.New("too many requests of this user are waiting")
	errBusy    = errors.New("the service is busy")
)

// turns bound what clients can make the process hold at a time: a user who reads
// slowly stands in the way of nobody but themselves, and all together cannot take
// more memory than there is.
type turns struct {
	memory   *semaphore.Weighted
	patience time.Duration

	mu    sync.Mutex
	users map[string]*queue
}

// queue is that of one user.
type queue struct {
	slots   chan struct{}
	present int // Those working or waiting.
}

func newTurns() *turns {
	return &turns{memory: semaphore.NewWeighted(memory), patience: patience, users: map[string]*queue{}}
}

// turn is the right to work on a request, with memory for its answer.
type turn struct {
	turns *turns
	user  string
	queue *queue
	held  int64
}

// enter waits for the turn of a user's request.
func (t *turns) enter(ctx context.Context, user string) (*turn, error) {
	t.mu.Lock()
	q := t.users[user]
	if q == nil {
		q = &queue{slots: make(chan struct{}, perUser)}
		t.users[user] = q
	}
	if q.present >= perUser+waiting {
		t.mu.Unlock()
		return nil, errTooMany
	}
	q.present++
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	select {
	case q.slots <- struct{}{}:
		return &turn{turns: t, user: user, queue: q}, nil
	case <-ctx.Done():
		t.leave(user, q)
		return nil, errBusy
	}
}

func (t *turns) leave(user string, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.present--; q.present == 0 {
		delete(t.users, user)
	}
}

// reserve waits for memory.
func (t *turn) reserve(ctx context.Context, size int) error {
	ctx, cancel := context.WithTimeout(ctx, t.turns.patience)
	defer cancel()
	if err := t.turns.memory.Acquire(ctx, int64(size)); err != nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	t.held += int64(size)
	return nil
}

// keep gives memory back but for what is really used.
func (t *turn) keep(size int) {
	if rest := t.held - int64(size); rest > 0 {
		t.turns.memory.Release(rest)
		t.held -= rest
	}
}

// end gives everything back.
func (t *turn) end() {
	t.keep(0)
	<-t.queue.slots
	t.turns.leave(t.user, t.queue)
}
