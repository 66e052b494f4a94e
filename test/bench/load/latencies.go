// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"time"
)

// Latencies are measured times, in no order.
type Latencies []time.Duration

// Quantile is the least time that a share of all do not exceed; 0 if there are
// none. It sorts them.
func (l Latencies) Quantile(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	if !slices.IsSorted(l) {
		slices.Sort(l)
	}
	return l[min(int(share*float64(len(l))), len(l)-1)]
}
