// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// OptionalAPIs knows the APIs that may be missing when the manager starts and come
// later. It runs what was registered for an API exactly once, as soon as the API is
// served, without a restart. It is safe for concurrent use.
type OptionalAPIs struct {
	discovery Discovery

	mu      sync.Mutex
	answers map[schema.GroupKind]schema.GroupVersionKind // An empty version: not served.
	waiting map[string][]waiter                          // By name of the CRD.
	tries   map[string]int
}

type waiter struct {
	api API
	add func(context.Context, schema.GroupVersionKind) error
}

// NewOptionalAPIs returns an OptionalAPIs that knows nothing yet.
func NewOptionalAPIs(d Discovery) *OptionalAPIs {
	return &OptionalAPIs{
		discovery: d,
		answers:   map[schema.GroupKind]schema.GroupVersionKind{},
		waiting:   map[string][]waiter{},
		tries:     map[string]int{},
	}
}

// Served tells which version of the API the cluster serves, if any. It asks once;
// afterwards only the appearance of the CustomResourceDefinition changes the
// answer, so that a reconciler may call it each time. An error means that the
// question could not be answered, and the next call asks again.
func (o *OptionalAPIs) Served(api API) (schema.GroupVersionKind, bool, error) {
	o.mu.Lock()
	known, ok := o.answers[api.GroupKind]
	o.mu.Unlock()
	if ok {
		return known, known.Version != "", nil
	}
	return o.ask(api)
}

func (o *OptionalAPIs) ask(api API) (schema.GroupVersionKind, bool, error) {
	gvk, served, err := Served(o.discovery, api)
	if err != nil {
		return gvk, false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers[api.GroupKind] = gvk
	return gvk, served, nil
}

// OnServed runs add once, with the served version: now if the API is served, else
// when it appears. Call it before the manager starts. An error of add is returned
// now or, later, logged and tried again. When it cannot be told whether the API is
// served, add waits for the CustomResourceDefinition to be seen.
func (o *OptionalAPIs) OnServed(ctx context.Context, api API, add func(context.Context, schema.GroupVersionKind) error) error {
	gvk, served, err := o.Served(api)
	if served {
		return add(ctx, gvk)
	}
	log := ctrl.LoggerFrom(ctx).WithName("optional-apis")
	if err != nil {
		log.Error(err, "Waiting for an API of which it could not be told whether it is served", "crd", api.CRD)
	} else {
		log.Info("Waiting for an API that is not installed", "crd", api.CRD)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting[api.CRD] = append(o.waiting[api.CRD], waiter{api: api, add: add})
	return nil
}

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch

// SetupWithManager starts to watch CustomResourceDefinitions, their metadata only.
func (o *OptionalAPIs) SetupWithManager(mgr ctrl.Manager) error {
	awaited := predicate.NewPredicateFuncs(func(obj client.Object) bool { return o.awaits(obj.GetName()) })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("optional-apis").
		For(CRDMetadata(), builder.WithPredicates(awaited)).
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

// Reconcile looks whether an API that something waits for is served by now.
func (o *OptionalAPIs) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !o.awaits(req.Name) {
		return ctrl.Result{}, nil
	}
	o.mu.Lock()
	waiting := o.waiting[req.Name]
	o.mu.Unlock()
	gvk, served, err := o.ask(waiting[0].api)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !served {
		return ctrl.Result{RequeueAfter: o.again(req.Name)}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Adding watches for an API that appeared", "crd", req.Name, "version", gvk.Version)
	return ctrl.Result{}, o.serve(ctx, req.Name, waiting, gvk)
}

// serve runs the waiting functions; those that fail keep waiting.
func (o *OptionalAPIs) serve(ctx context.Context, crd string, waiting []waiter, gvk schema.GroupVersionKind) error {
	var left []waiter
	var errs []error
	for _, w := range waiting {
		if err := w.add(ctx, gvk); err != nil {
			left, errs = append(left, w), append(errs, err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting[crd] = left; len(left) == 0 {
		delete(o.waiting, crd)
	}
	delete(o.tries, crd)
	return errors.Join(errs...)
}

// again says when to look again; zero means not before the next event.
func (o *OptionalAPIs) again(crd string) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tries[crd]++; o.tries[crd] > settleTries {
		delete(o.tries, crd)
		return 0
	}
	return settleDelay
}

func (o *OptionalAPIs) awaits(crd string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting[crd]) > 0
}
