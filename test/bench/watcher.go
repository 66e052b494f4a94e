// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// watcher counts the subscriptions that exist and that are Active. One watch
// costs the server less than asking again and again.
type watcher struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu             sync.Mutex
	exist, enforce sets.Set[types.NamespacedName]
	changed        chan struct{} // closed and replaced at each change
	changedAt      time.Time
	err            error
}

func watchActive(ctx context.Context, cfg *rest.Config) (*watcher, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watcher{
		cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}),
		exist: sets.New[types.NamespacedName](), enforce: sets.New[types.NamespacedName](),
	}
	stream, err := c.Watch(ctx, &v1alpha1.MaaSSubscriptionList{})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch subscriptions: %w", err)
	}
	go func() {
		defer close(w.done)
		defer stream.Stop()
		for e := range stream.ResultChan() {
			w.take(e)
		}
		w.fail(errors.New("the watch of subscriptions ended"))
	}()
	return w, nil
}

func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

func (w *watcher) take(e watch.Event) {
	s, ok := e.Object.(*v1alpha1.MaaSSubscription)
	if !ok {
		w.fail(fmt.Errorf("watch subscriptions: unexpected %s %T", e.Type, e.Object))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(s)
	w.exist.Delete(key)
	w.enforce.Delete(key)
	if e.Type != watch.Deleted {
		w.exist.Insert(key)
		if s.Status.Phase == v1alpha1.PhaseActive {
			w.enforce.Insert(key)
		}
	}
	w.tell()
}

func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	w.tell()
}

func (w *watcher) tell() {
	w.changedAt = time.Now()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watcher) state() (exist, active int, changed chan struct{}, at time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exist.Len(), w.enforce.Len(), w.changed, w.changedAt, w.err
}

// await waits until exactly so many subscriptions exist and all are Active, and
// returns when that happened.
func (w *world) await(ctx context.Context, count int) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%d subscriptions do not become Active", count))
	defer cancel()
	const interval = 10 * time.Second
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		exist, active, changed, at, err := w.active.state()
		if err != nil {
			return at, err
		}
		if exist == count && active == count {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return at, fmt.Errorf("%d exist, %d are Active: %w", exist, active, context.Cause(ctx))
		case <-changed:
		case <-tick.C:
			w.say("%d of %d subscriptions are Active", active, count)
		}
	}
}
