// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"fmt"
	"strings"
	"time"
)

// The quantiles that are told.
const half, nine, most = 0.5, 0.9, 0.99

// table is the figures as Markdown, each beside those of Authorino alone with as many
// clients.
func table(all []*figures) string {
	var out strings.Builder
	out.WriteString("| clients | | p50 | p90 | p99 | requests/s | p50 to Authorino alone | processor time: Authorino | maas-api | calls per request: validate | select |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	floors := map[int]time.Duration{}
	for _, f := range all {
		if f.kind == alone {
			floors[f.clients] = f.times.Quantile(half)
		}
		each := func(total float64) float64 { return total / float64(f.asked) }
		processor := func(seconds float64) string { return short(time.Duration(each(seconds) * float64(time.Second))) }
		fmt.Fprintf(&out, "| %d | %s | %s | %s | %s | %.0f | %.1f | %s | %s | %.4g | %.4g |\n",
			f.clients, f.kind, short(f.times.Quantile(half)), short(f.times.Quantile(nine)), short(f.times.Quantile(most)),
			float64(len(f.times))/f.elapsed.Seconds(), float64(f.times.Quantile(half))/float64(max(floors[f.clients], 1)),
			processor(f.spent.authorino), processor(f.spent.maasAPI), each(f.spent.validations), each(f.spent.selections))
	}
	return out.String()
}

// short is a time with as many digits as mean something.
func short(d time.Duration) string {
	const parts = 100
	digits := time.Microsecond
	for digits*parts < d {
		digits *= 10
	}
	return d.Round(digits).String()
}
