// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contributor is the frame of the controllers that report on what
// contributes to the policies of models: MaaSAuthPolicies and MaaSSubscriptions.
// It decides when an object is looked at, writes its status when that says
// something else than before, and records what changed. How an object is doing is
// judged by the controllers themselves; the policies are written by package
// modelpolicy.
package contributor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// Judge knows one kind of contributors.
type Judge[T client.Object] interface {
	// Judge brings the status of an object up to date, in memory, and returns the
	// verdicts on its references. An error means that a fact could not be read,
	// which says nothing about the object.
	Judge(ctx context.Context, object T, now time.Time) ([]attachment.Reference, error)
	// Complete adds to a status that is about to be written what would be no
	// reason to write it.
	Complete(ctx context.Context, object T) error
	// Settled tells whether the status of an object already says what follows from
	// the policy of one of its models. A "no" may be wrong. The object must not be
	// changed.
	Settled(policy attachment.Policy, object T, model types.NamespacedName) bool
	// Concerned lists the objects that a policy of somebody else concerns.
	Concerned(ctx context.Context, policy client.Object) ([]types.NamespacedName, error)
}

// Kind describes a kind of contributors.
type Kind[T client.Object] struct {
	// Name is the controller's, Kind that of the objects.
	Name, Kind string
	// New makes an empty object, NewList an empty list.
	New     func() T
	NewList func() client.ObjectList
	// Index finds the objects by model.
	Index string
	// Policies is the kind of the policies the objects contribute to, and
	// PolicyName the name of a model's.
	Policies   facts.API
	PolicyName func(model string) string
	// Finalizer is one that earlier releases put on the objects.
	Finalizer string
	// Status is the status of an object, Conditions the conditions in it, and
	// Standing how far it has come.
	Status     func(T) any
	Conditions func(T) *[]metav1.Condition
	Standing   func(T) metrics.Standing
}

// Controller reports on one kind of contributors. Make it with [New].
type Controller[T client.Object] struct {
	kind    Kind[T]
	judge   Judge[T]
	client  client.Client
	clock   clock.PassiveClock
	events  events.EventRecorder
	metrics *metrics.Metrics
	failed  memory
}

// New returns a controller that reads from the client's cache. Without metrics
// nothing is measured.
func New[T client.Object](kind Kind[T], judge Judge[T], c client.Client, recorder events.EventRecorder, m *metrics.Metrics) *Controller[T] {
	return &Controller[T]{kind: kind, judge: judge, client: c, clock: clock.RealClock{}, events: recorder, metrics: m}
}

// Reconcile brings the status of one object up to date.
func (c *Controller[T]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := c.kind.New()
	if err := c.client.Get(ctx, req.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			c.failed.forget(req.NamespacedName)
			c.metrics.Gone(c.kind.Kind, req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read %s of controller %s: %w", req, c.kind.Name, err)
	}
	var again time.Time
	if object.GetDeletionTimestamp() == nil {
		var err error
		if again, err = c.report(ctx, object); err != nil {
			return trigger.Outcome(ctx, client.IgnoreNotFound(err))
		}
	}
	// The historical finalizer is evidence for the first status: it goes last.
	// Modelpolicy rebuilds the models concerned without an object that goes.
	result, err := trigger.Outcome(ctx, client.IgnoreNotFound(finalizer.Drop(ctx, c.client, object, c.kind.Finalizer)))
	if err == nil && result.IsZero() && !again.IsZero() {
		result.RequeueAfter = max(again.Sub(c.clock.Now()), time.Millisecond)
	}
	return result, err
}

// report judges the object and writes its status, in one patch, and only when it
// says something else than before. It returns when to look again although nothing
// changed.
func (c *Controller[T]) report(ctx context.Context, object T) (time.Time, error) {
	before, ok := object.DeepCopyObject().(T)
	if !ok {
		return time.Time{}, fmt.Errorf("copy %T", object)
	}
	references, err := c.judge.Judge(ctx, object, c.clock.Now())
	if err != nil {
		return time.Time{}, err
	}
	differs, err := conditions.StatusDiffers(before, object)
	if err != nil {
		return time.Time{}, err
	}
	if differs {
		if err := c.judge.Complete(ctx, object); err != nil {
			return time.Time{}, err
		}
		if _, err := conditions.PatchStatus(ctx, c.client, before, object, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
			return time.Time{}, err
		}
	}
	c.announce(before, object)
	c.measure(ctx, before, object, references)
	return attachment.Until(references), nil
}

// measure hands on what became of the object.
func (c *Controller[T]) measure(ctx context.Context, before, after T, references []attachment.Reference) {
	standing := c.kind.Standing(after)
	metrics.Judge(ctx, metrics.OfPhase(standing.Phase))
	c.metrics.Reported(metrics.Report{Kind: c.kind.Kind, Object: after, Before: c.kind.Standing(before), After: standing, References: references})
}
