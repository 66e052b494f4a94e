// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedns keeps the namespaces the installation needs: that of
// AITenants and that of maas-api. It creates a missing one and labels an existing
// one for the network policies of the platform. It never deletes a namespace, and
// leaves all other labels to whoever made it.
package managedns

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch

const (
	// pollInterval and maxPolls bound how long Ensure waits for a namespace that is
	// being deleted: 90 seconds.
	pollInterval = 2 * time.Second
	maxPolls     = 45

	// firstRetry is the wait after the first failed creation; each further one
	// doubles it.
	firstRetry = time.Second
	maxTries   = 5
)

// ErrTerminating reports a namespace that is being deleted. It can be created again
// once it is gone.
var ErrTerminating = errors.New("the namespace is being deleted")

// Options are what a namespace is kept with.
type Options struct {
	// Client reads and writes. A start uses one that reads past the cache.
	Client client.Client
	// Name is the name of the namespace.
	Name string
	// Clock times the waits of Ensure.
	Clock clock.Clock
}

// Labels are those of a namespace that the operator creates.
func Labels() map[string]string {
	return map[string]string{
		v1alpha1.LabelGeneratedNamespace: "true",
		v1alpha1.LabelManagedBy:          v1alpha1.ManagedByValue,
		v1alpha1.LabelPartOf:             v1alpha1.ControllerDeploymentName,
	}
}

// Ensure is for the start of the program, when nothing else can be done without the
// namespace: it waits for one that is being deleted and tries again to create a
// missing one. Who may not read namespaces is taken not to have to.
func Ensure(ctx context.Context, o Options) error {
	wait := firstRetry
	for try := 1; ; try++ {
		err := o.settle(ctx)
		if err == nil || try == maxTries || final(err) {
			return err
		}
		ctrl.LoggerFrom(ctx).Info("Trying again to make a namespace", "Namespace", o.Name, "cause", err.Error())
		if err := o.pause(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

// Repair is one look, for a reconciler, which is woken up by changes of the namespace:
// a missing one is created, an existing one gets its label. ErrTerminating tells that
// neither can be done yet.
func Repair(ctx context.Context, c client.Client, name string) error {
	o := Options{Client: c, Name: name}
	live, err := o.read(ctx)
	switch {
	case err != nil:
		return err
	case live == nil:
		return o.create(ctx)
	case terminating(live):
		return fmt.Errorf("make namespace %s: %w", name, ErrTerminating)
	default:
		return o.label(ctx, live)
	}
}

// settle is one try of Ensure.
func (o Options) settle(ctx context.Context) error {
	live, err := o.read(ctx)
	if apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).Info("Taking a namespace to exist that may not be read", "Namespace", o.Name)
		return nil
	}
	if err != nil {
		return err
	}
	if live != nil && terminating(live) {
		if live, err = o.awaitEnd(ctx); apierrors.IsForbidden(err) {
			ctrl.LoggerFrom(ctx).Info("Taking a namespace to be managed by others that may not be read any more", "Namespace", o.Name)
			return nil
		}
		if err != nil {
			return err
		}
	}
	if live == nil {
		return o.create(ctx)
	}
	err = o.label(ctx, live)
	if apierrors.IsForbidden(err) {
		// The installation works as far as the platform's network policies let it.
		ctrl.LoggerFrom(ctx).Error(err, "Leaving a namespace without its label", "Namespace", o.Name, "label", v1alpha1.LabelGeneratedNamespace)
		return nil
	}
	return err
}

// awaitEnd waits until the namespace is gone, nil, or is there to stay.
func (o Options) awaitEnd(ctx context.Context) (*corev1.Namespace, error) {
	ctrl.LoggerFrom(ctx).Info("Waiting for the deletion of a namespace to end", "Namespace", o.Name)
	for range maxPolls {
		if err := o.pause(ctx, pollInterval); err != nil {
			return nil, err
		}
		live, err := o.read(ctx)
		if err != nil {
			return nil, err
		}
		if live == nil || !terminating(live) {
			return live, nil
		}
	}
	return nil, fmt.Errorf("make namespace %s, after waiting %s: %w", o.Name, maxPolls*pollInterval, ErrTerminating)
}

// read returns the namespace, or nil when there is none.
func (o Options) read(ctx context.Context) (*corev1.Namespace, error) {
	live := &corev1.Namespace{}
	if err := o.Client.Get(ctx, types.NamespacedName{Name: o.Name}, live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // Documented: there is none.
		}
		return nil, fmt.Errorf("read namespace %s: %w", o.Name, err)
	}
	switch live.Status.Phase {
	case corev1.NamespaceActive, corev1.NamespaceTerminating, "":
		return live, nil
	default:
		return nil, fmt.Errorf("make namespace %s: %w %q", o.Name, errUnknownPhase, live.Status.Phase)
	}
}

var errUnknownPhase = errors.New("it is in an unknown phase")

func (o Options) create(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: Labels()}}
	err := o.Client.Create(ctx, namespace, client.FieldOwner(v1alpha1.FieldOwner))
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("create namespace %s; grant verb create on namespaces, or create it beforehand: %w", o.Name, err)
	}
	if err != nil {
		return fmt.Errorf("create namespace %s: %w", o.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Created a namespace", "Namespace", o.Name)
	return nil
}

// label adds the one label that the platform's network policies ask for.
func (o Options) label(ctx context.Context, live *corev1.Namespace) error {
	if live.Labels[v1alpha1.LabelGeneratedNamespace] == "true" {
		return nil
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.LabelGeneratedNamespace+`":"true"}}}`))
	err := o.Client.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Name}}, patch, client.FieldOwner(v1alpha1.FieldOwner))
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("label namespace %s; grant verb patch on namespaces, or set label %s=true on it: %w", o.Name, v1alpha1.LabelGeneratedNamespace, err)
	}
	if err != nil {
		return fmt.Errorf("label namespace %s: %w", o.Name, err)
	}
	return nil
}

func (o Options) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("make namespace %s: %w", o.Name, context.Cause(ctx))
	case <-o.Clock.After(d):
		return nil
	}
}

func terminating(live *corev1.Namespace) bool {
	return live.DeletionTimestamp != nil || live.Status.Phase == corev1.NamespaceTerminating
}

// final tells whether another try cannot help soon.
func final(err error) bool {
	return apierrors.IsForbidden(err) || errors.Is(err, ErrTerminating) || errors.Is(err, errUnknownPhase) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
