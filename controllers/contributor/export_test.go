// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor

import (
	"context"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/trigger"
)

// ConcernedAt finds what a change of a policy concerns at a time.
func (c *Controller[T]) ConcernedAt(ctx context.Context, now time.Time, before, after client.Object) (trigger.Due, error) {
	c.clock = clocktesting.NewFakePassiveClock(now)
	return c.concerned(ctx, before, after)
}
