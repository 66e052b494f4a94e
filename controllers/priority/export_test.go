// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package priority

import "k8s.io/utils/clock"

// WithClock returns a reconciler that goes by the given clock.
func (r Reconciler) WithClock(c clock.PassiveClock) *Reconciler {
	r.clock = c
	return &r
}

// Patience is how long a subscription that waits for the gateway is left alone.
const Patience = patience
