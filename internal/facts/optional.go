// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	// settleDelay and settleTries bound how long a CustomResourceDefinition is given
	// until the API server serves it: half a minute.
	settleDelay = time.Second
	settleTries = 30
)

// OptionalAPIs knows the APIs that may be missing when the manager starts, come
// later, and go and come back. It runs what was registered for an API as soon as the
// API is served, without a restart. It is safe for concurrent use.
type OptionalAPIs struct {
	discovery   Discovery
	definitions client.Reader // Nil before SetupWithManager.

	mu    sync.Mutex
	known map[string]*optional // By name of the CRD.
}

// NewOptionalAPIs returns an OptionalAPIs that knows nothing yet.
func NewOptionalAPIs(d Discovery) *OptionalAPIs {
	return &OptionalAPIs{discovery: d, known: map[string]*optional{}}
}

// Add is what is done about an API that is served, in the given version.
type Add func(context.Context, schema.GroupVersionKind) error

// Served tells which version of the API the cluster serves, if any. It asks once;
// afterwards only a change of the CustomResourceDefinition changes the answer, so
// that a reconciler may call it each time. An error means that the question could
// not be answered, and the next call asks again.
func (o *OptionalAPIs) Served(api API) (schema.GroupVersionKind, bool, error) {
	o.mu.Lock()
	s := o.of(api)
	answer, answered, events := s.answer, s.answered, s.events
	o.mu.Unlock()
	if answered {
		return answer, answer.Version != "", nil
	}
	gvk, served, err := Served(o.discovery, api)
	if err != nil {
		return gvk, false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.events == events { // Else the answer may be older than what is known by now.
		s.answer, s.answered = gvk, true
	}
	return gvk, served, nil
}

// OnServed runs add, with the served version, each time the API begins to be served:
// now if it is, when it appears, and when it comes back after it was gone. Call it
// before the manager starts. An error of add is returned now or, later, logged and
// tried again. When it cannot be told whether the API is served, add waits for the
// CustomResourceDefinition to be seen.
func (o *OptionalAPIs) OnServed(ctx context.Context, api API, add Add) error {
	return o.register(ctx, api, waiter{add: add})
}

// OnFirstServed is OnServed for what outlives the API, as a watch does: add runs only
// once for a version.
func (o *OptionalAPIs) OnFirstServed(ctx context.Context, api API, add Add) error {
	return o.register(ctx, api, waiter{add: add, lasting: true})
}

// OnGone runs look each time the API ceases to be served. Call it before the manager
// starts. An error of look is logged and tried again.
func (o *OptionalAPIs) OnGone(api API, look func(context.Context) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(api)
	s.farewells = append(s.farewells, look)
}

func (o *OptionalAPIs) register(ctx context.Context, api API, w waiter) error {
	gvk, served, err := o.Served(api)
	if served {
		if err := w.add(ctx, gvk); err != nil {
			return err
		}
		w.version = gvk.Version
	}
	log := ctrl.LoggerFrom(ctx).WithName("optional-apis")
	switch {
	case err != nil:
		log.Error(err, "Waiting for an API of which it could not be told whether it is served", "crd", api.CRD)
	case !served:
		log.Info("Waiting for an API that is not installed", "crd", api.CRD)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(api)
	s.waiters = append(s.waiters, &w)
	return nil
}

// of returns what is known about an API. The caller holds the lock.
func (o *OptionalAPIs) of(api API) *optional {
	s, ok := o.known[api.CRD]
	if !ok {
		s = &optional{api: api}
		o.known[api.CRD] = s
	}
	return s
}

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch

// SetupWithManager starts to watch CustomResourceDefinitions, their metadata only.
func (o *OptionalAPIs) SetupWithManager(mgr ctrl.Manager) error {
	o.definitions = mgr.GetClient() // Reads metadata from the cache.
	concerned := predicate.NewPredicateFuncs(func(obj client.Object) bool { return o.knows(obj.GetName()) })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("optional-apis").
		For(CRDMetadata(), builder.WithPredicates(concerned)).
		Complete(o)
	if err != nil {
		return fmt.Errorf("set up controller optional-apis: %w", err)
	}
	return nil
}

// CRDMetadata returns an empty object for the metadata of a
// CustomResourceDefinition.
func CRDMetadata() *metav1.PartialObjectMetadata {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return crd
}

// Reconcile looks whether an API is served by now, or no longer.
func (o *OptionalAPIs) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o.mu.Lock()
	s, ok := o.known[req.Name]
	if !ok {
		o.mu.Unlock()
		return ctrl.Result{}, nil
	}
	s.events++
	api := s.preferring()
	o.mu.Unlock()

	uid, there, err := o.definition(ctx, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !there {
		return ctrl.Result{}, o.end(ctx, s)
	}
	gvk, served, err := Served(o.discovery, api)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !served {
		return ctrl.Result{RequeueAfter: o.again(s)}, o.end(ctx, s)
	}
	return ctrl.Result{}, o.begin(ctx, s, gvk, uid)
}

// definition tells whether the CustomResourceDefinition is there to stay, and which
// one it is. One that is being deleted takes no new objects any more.
func (o *OptionalAPIs) definition(ctx context.Context, name string) (types.UID, bool, error) {
	if o.definitions == nil {
		return "", true, nil
	}
	crd := CRDMetadata()
	if err := o.definitions.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		if apierrors.IsNotFound(err) {
			return "", false, nil
		}
		return "", false, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
	}
	return crd.GetUID(), crd.GetDeletionTimestamp() == nil, nil
}

// end notes that an API is not served and, when it was, tells those who asked.
func (o *OptionalAPIs) end(ctx context.Context, s *optional) error {
	o.mu.Lock()
	s.stop()
	farewells, due := s.farewells, s.ended
	o.mu.Unlock()
	if !due {
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Waiting for an API that is gone to come back", "crd", s.api.CRD)
	var errs []error
	for _, look := range farewells {
		errs = append(errs, look(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s.ended = false
	return nil
}

// begin notes that an API is served and runs what waits for it; what fails keeps
// waiting.
func (o *OptionalAPIs) begin(ctx context.Context, s *optional, gvk schema.GroupVersionKind, uid types.UID) error {
	o.mu.Lock()
	waiting := s.start(gvk, uid)
	o.mu.Unlock()
	if len(waiting) > 0 {
		ctrl.LoggerFrom(ctx).Info("Looking again for an API that appeared", "crd", s.api.CRD, "version", gvk.Version)
	}
	errs := make([]error, 0, len(waiting))
	for _, w := range waiting {
		err := w.add(ctx, gvk)
		errs = append(errs, err)
		if err == nil {
			o.mu.Lock()
			w.version, w.again = gvk.Version, false
			o.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// again says when to look again; zero means not before the next event.
func (o *OptionalAPIs) again(s *optional) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.tries++; s.tries > settleTries {
		s.tries = 0
		return 0
	}
	return settleDelay
}

func (o *OptionalAPIs) knows(crd string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[crd] != nil
}
