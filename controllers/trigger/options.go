// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// shortestRetry is the wait after the first failure; each further one doubles it.
	shortestRetry = 5 * time.Millisecond
	// longestRetry bounds how much longer than its cause a failure lasts. What
	// refuses a policy for an hour must not leave the model wrong for another one.
	longestRetry = 30 * time.Second
)

// Options are those of a controller that works on that many objects at once.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestRetry, longestRetry),
	}
}
