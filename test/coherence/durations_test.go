// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"fmt"
	"slices"
	"time"
)

// durations are measured times.
type durations []time.Duration

// quantile is the time that a share of all times do not exceed; 0 if there are
// none.
func (d durations) quantile(share float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (d durations) longest() time.Duration { return d.quantile(1) }

// String is the figures that are reported.
func (d durations) String() string {
	const half, most = 0.5, 0.99
	return fmt.Sprintf("p50 %s, p99 %s, longest %s", d.quantile(half).Round(time.Millisecond/10),
		d.quantile(most).Round(time.Millisecond/10), d.longest().Round(time.Millisecond/10))
}
