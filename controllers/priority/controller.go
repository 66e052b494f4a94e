// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package priority

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

const (
	// delay is how long changes in a namespace are collected.
	delay = 2 * time.Second
	// patience is how long a subscription that waits for the gateway is left alone:
	// the status that ends the waiting takes the condition along.
	patience = time.Minute
)

// Reconciler keeps the condition of all subscriptions of a namespace. Its requests
// carry the namespace's name.
type Reconciler struct {
	// Client reads from the cache and writes statuses.
	Client client.Client
	// Tenants finds the tenants of namespaces.
	Tenants lookup.Tenants
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics

	clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions,verbs=list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions/status,verbs=patch

// SetupWithManager registers the controller and its watch.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.clock = clock.RealClock{}
	collect := trigger.EnqueueAfter(namespaceOf, func(types.NamespacedName) time.Duration { return delay })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("priority").
		Watches(&v1alpha1.MaaSSubscription{}, collect, builder.WithPredicates(trigger.OnUpdate(moved))).
		Complete(r.Metrics.Wrap("priority", v1alpha1.KindMaaSSubscription, r))
	if err != nil {
		return fmt.Errorf("set up controller priority: %w", err)
	}
	return nil
}

func namespaceOf(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	return []types.NamespacedName{{Name: object.GetNamespace()}}, nil
}

// moved holds when a subscription left its peers or joined others.
func moved(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSSubscription)
	b, alsoOK := after.(*v1alpha1.MaaSSubscription)
	return !ok || !alsoOK || a.Spec.Priority != b.Spec.Priority || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil)
}

// Reconcile corrects the condition on the subscriptions of a namespace.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	tenant, err := r.Tenants.Member(ctx, req.Name)
	if err != nil || tenant == "" {
		return ctrl.Result{}, err // What is in no tenant's namespace competes for nothing.
	}
	var list v1alpha1.MaaSSubscriptionList
	if err := r.Client.List(ctx, &list, client.InNamespace(req.Name), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list MaaSSubscriptions in namespace %s: %w", req.Name, err)
	}
	peers := map[int32]int{}
	for i := range list.Items {
		if s := &list.Items[i]; s.DeletionTimestamp == nil {
			peers[s.Spec.Priority]++
		}
	}
	var errs []error
	var again time.Duration
	for i := range list.Items {
		s := &list.Items[i]
		shared := peers[s.Spec.Priority] > 1
		if s.DeletionTimestamp != nil || right(s, shared) {
			continue
		}
		if wait := r.busy(s); wait > 0 {
			again = max(again, wait)
			continue
		}
		errs = append(errs, r.correct(ctx, s.DeepCopy(), shared))
	}
	result, err := trigger.Outcome(ctx, errors.Join(errs...))
	if err == nil && result.IsZero() {
		result.RequeueAfter = again
	}
	return result, err
}

// busy tells how long a subscription has a status of its own to expect, which takes
// the condition along.
func (r *Reconciler) busy(s *v1alpha1.MaaSSubscription) time.Duration {
	ready := meta.FindStatusCondition(s.Status.Conditions, string(v1alpha1.ConditionReady))
	if ready == nil || s.Status.ObservedGeneration != s.Generation {
		return delay
	}
	if s.Status.Phase != v1alpha1.PhasePending {
		return 0
	}
	return ready.LastTransitionTime.Add(patience).Sub(r.clock.Now())
}

func (r *Reconciler) correct(ctx context.Context, s *v1alpha1.MaaSSubscription, shared bool) error {
	before := s.DeepCopy()
	Set(s, shared)
	_, err := conditions.PatchStatus(ctx, r.Client, before, s, client.FieldOwner(v1alpha1.FieldOwner))
	return client.IgnoreNotFound(err)
}
