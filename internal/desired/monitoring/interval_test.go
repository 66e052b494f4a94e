// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestInterval(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "30s", "30s": "30s", "15s": "15s", "1m30s": "1m30s", "1.5s": "1s500ms", "1s1m": "1m1s", "90s": "1m30s", "60m": "1h", "0.5h": "30m", "250ms": "250ms",
	} {
		if got, ok := interval(text); got != want || !ok {
			t.Errorf("interval(%q) = %q, %t, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"0s", "0.1ms", "soon", "99999999999999h", "1d"} {
		if got, ok := interval(text); got != "30s" || ok {
			t.Errorf("interval(%q) = %q, %t, want the default and false", text, got, ok)
		}
	}
}

// What admission lets pass is a duration of Prometheus afterwards, and as long.
func TestEveryAdmittedIntervalBecomesADurationOfPrometheus(t *testing.T) {
	t.Parallel()
	prometheus := regexp.MustCompile(`^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`)
	admitted := rapid.StringMatching(`([0-9]{1,4}(\.[0-9]{1,3})?(ms|s|m|h)){1,3}`)
	rapid.Check(t, func(rt *rapid.T) {
		text := admitted.Draw(rt, "interval")
		got, ok := interval(text)
		if got == "" || !prometheus.MatchString(got) {
			rt.Fatalf("interval(%q) = %q, which Prometheus does not take", text, got)
		}
		want, err := time.ParseDuration(text)
		if err != nil {
			rt.Fatal(err)
		}
		if length, err := time.ParseDuration(got); ok && (err != nil || length != want.Truncate(time.Millisecond)) {
			rt.Errorf("interval(%q) = %q, which is %s", text, got, length)
		}
	})
}
