// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"strconv"
	"strings"
	"time"
)

// defaultInterval is how often metrics are read unless the Config says otherwise.
const defaultInterval = "30s"

// interval writes the Config's scrape interval as a duration of Prometheus, which has
// whole numbers with each unit once, the largest first. A Config may say 1.5s, or 1s1m.
// What cannot be used is not: false, and the default.
func interval(text string) (string, bool) {
	if text == "" {
		return defaultInterval, true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		return defaultInterval, false
	}
	d = d.Truncate(time.Millisecond)
	var b strings.Builder
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / unit.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + unit.name)
			d -= n * unit.size
		}
	}
	return b.String(), true
}
