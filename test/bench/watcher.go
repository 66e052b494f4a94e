// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
}

func watchActive(ctx context.Context, cfg *rest.Config) (*watcher, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	informers, err := cache.New(cfg, cache.Options{Scheme: scheme, DefaultTransform: onlyPhase})
	if err != nil {
		return nil, fmt.Errorf("make a cache: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &watcher{
		cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}),
		exist: sets.New[types.NamespacedName](), enforce: sets.New[types.NamespacedName](),
	}
	go func() {
		defer close(w.done)
		_ = informers.Start(ctx) // It ends when it is told to, and not before.
	}()
	if err := w.follow(ctx, informers); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

func (w *watcher) follow(ctx context.Context, informers cache.Cache) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.MaaSSubscription{})
	if err != nil {
		return fmt.Errorf("watch subscriptions: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.take(object, true) },
		UpdateFunc: func(_, object any) { w.take(object, true) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			w.take(object, false)
		},
	})
	if err != nil {
		return fmt.Errorf("watch subscriptions: %w", err)
	}
	return nil
}

// onlyPhase keeps of a subscription what is counted.
func onlyPhase(object any) (any, error) {
	if s, ok := object.(*v1alpha1.MaaSSubscription); ok {
		s.ManagedFields, s.Spec = nil, v1alpha1.MaaSSubscriptionSpec{}
		s.Status = v1alpha1.MaaSSubscriptionStatus{Phase: s.Status.Phase}
	}
	return object, nil
}

func (w *watcher) stop() {
	w.cancel()
	<-w.done
}

func (w *watcher) take(object any, exists bool) {
	s, ok := object.(*v1alpha1.MaaSSubscription)
	if !ok {
		return // The informer delivers nothing else.
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(s)
	w.exist.Delete(key)
	w.enforce.Delete(key)
	if exists {
		w.exist.Insert(key)
		if s.Status.Phase == v1alpha1.PhaseActive {
			w.enforce.Insert(key)
		}
	}
	w.changedAt = time.Now()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watcher) state() (exist, active int, changed chan struct{}, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exist.Len(), w.enforce.Len(), w.changed, w.changedAt
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
		exist, active, changed, at := w.active.state()
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
