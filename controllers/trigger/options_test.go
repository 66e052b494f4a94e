// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package trigger_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/opendatahub-io/maas-operator/controllers/trigger"
)

func TestAFailureIsTriedAgainWithinHalfAMinute(t *testing.T) {
	t.Parallel()
	limiter := trigger.Options(1).RateLimiter
	var last time.Duration
	for range 50 {
		last = limiter.When(reconcile.Request{})
	}
	if last != 30*time.Second {
		t.Errorf("the wait after 50 failures is %s, want 30s", last)
	}
}
