// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// staleDelay is how long the cache gets to catch up after a write was refused
// because the object had moved on.
const staleDelay = 100 * time.Millisecond

// Outcome turns the error of a reconcile into what the queue should do. A write
// refused because the object had moved on is no error: several controllers write
// the same objects, and the cache is about to show what the other one wrote. It is
// one only together with an error of another kind, so that none is lost.
func Outcome(ctx context.Context, err error) (ctrl.Result, error) {
	if err != nil && stale(err) {
		metrics.Judge(ctx, metrics.Conflict)
		ctrl.LoggerFrom(ctx).V(2).Info("Waiting for the cache to catch up")
		return ctrl.Result{RequeueAfter: staleDelay}, nil
	}
	return ctrl.Result{}, err
}

// stale holds when every error in the tree is a write to an object that had moved
// on. A field that somebody else owns is also called a conflict, but waiting does
// not resolve it.
func stale(err error) bool {
	switch e := err.(type) { //nolint:errorlint // The tree is walked here, one node at a time.
	case interface{ Unwrap() []error }:
		members := e.Unwrap()
		return len(members) > 0 && !slices.ContainsFunc(members, func(member error) bool { return !stale(member) })
	case interface{ Unwrap() error }:
		return stale(e.Unwrap())
	default:
		return apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
	}
}
