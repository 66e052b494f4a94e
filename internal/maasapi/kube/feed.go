// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Pauses between attempts to read a kind.
const (
	firstRetry = 250 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Reasons why a kind cannot be followed.
const (
	reasonStarting    = "the first list is not complete"
	reasonNotServed   = "the API server does not serve the kind: install the CRDs of maas-operator"
	reasonForbidden   = "the API server refuses the list or watch: give the ServiceAccount the rights of maas-api"
	reasonUnreachable = "the API server cannot be reached, or fails"
)

// feed follows one kind and reports it to a store.
type feed struct {
	resource  schema.GroupVersionResource
	namespace string // Empty: all namespaces.
	client    dynamic.Interface
	store     cache.ReflectorStore
	contact   *contact
	failed    func(resource string)
	clock     clock.WithTicker
	log       *slog.Logger

	mu      sync.Mutex
	problem string
}

// run follows the kind until the context ends. It never gives up: what is missing
// may appear.
func (f *feed) run(ctx context.Context) {
	reflector := cache.NewReflectorWithOptions(f.listWatch(), nil, heard{f.store, f}, cache.ReflectorOptions{
		Name:    "maas-api/" + f.resource.Resource,
		Backoff: &wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 0.5, Steps: 10, Cap: lastRetry},
	})
	pause := firstRetry
	for {
		began := f.clock.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() != nil {
			return
		}
		f.note(err)
		if f.clock.Since(began) > 2*lastRetry {
			pause = firstRetry // It worked for a while.
		}
		timer := f.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		pause = min(2*pause, lastRetry)
	}
}

// listWatch lists and watches, and notes every sign of life.
func (f *feed) listWatch() cache.ListerWatcher {
	var client dynamic.ResourceInterface = f.client.Resource(f.resource)
	if f.namespace != "" {
		client = f.client.Resource(f.resource).Namespace(f.namespace)
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, options)
			f.note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := client.Watch(ctx, options)
			f.note(err)
			if err != nil {
				return nil, err
			}
			f.contact.opened(f.clock.Now())
			return &opened{Interface: w, closed: sync.OnceFunc(f.contact.closed)}, nil
		},
	}, f.client)
}

// opened is a watch that tells when it is over.
type opened struct {
	watch.Interface
	closed func()
}

// Stop ends the watch. Who reads it stops it in every case, also after the API
// server ended it.
func (o *opened) Stop() {
	o.closed()
	o.Interface.Stop()
}

// heard is a store that notes that the API server said something.
type heard struct {
	cache.ReflectorStore
	feed *feed
}

func (h heard) Add(object any) error {
	h.feed.contact.hear(h.feed.clock.Now())
	return h.ReflectorStore.Add(object)
}

func (h heard) Update(object any) error {
	h.feed.contact.hear(h.feed.clock.Now())
	return h.ReflectorStore.Update(object)
}

func (h heard) Delete(object any) error {
	h.feed.contact.hear(h.feed.clock.Now())
	return h.ReflectorStore.Delete(object)
}

// Bookmark is what the API server sends when nothing happens.
func (h heard) Bookmark(string) error {
	h.feed.contact.hear(h.feed.clock.Now())
	return nil
}

func (h heard) Replace(objects []any, version string) error {
	h.feed.contact.hear(h.feed.clock.Now())
	return h.ReflectorStore.Replace(objects, version)
}

// note keeps and logs why the kind cannot be followed, when that changes. Ends of
// watches in good order are no problem.
func (f *feed) note(err error) {
	problem := problemOf(err)
	if problem != "" {
		f.failed(f.resource.Resource)
	}
	f.mu.Lock()
	before := f.problem
	f.problem = problem
	f.mu.Unlock()
	switch problem {
	case before:
	case "":
		f.log.Info("Following a kind again", "resource", f.resource.Resource)
	default:
		f.log.Error("Cannot follow a kind; retrying", "resource", f.resource.Resource, "namespace", f.namespace, "problem", problem, "error", err)
	}
}

func problemOf(err error) string {
	switch {
	case err == nil, errors.Is(err, context.Canceled), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return ""
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return reasonNotServed
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return reasonForbidden
	default:
		return reasonUnreachable
	}
}

// state says why the kind is not known yet.
func (f *feed) state() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.problem != "" {
		return f.problem
	}
	return reasonStarting
}
