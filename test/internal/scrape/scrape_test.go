// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"strings"
	"testing"
)

func TestSum(t *testing.T) {
	t.Parallel()
	const page = `# HELP reconcile_total How often.
# TYPE reconcile_total counter
reconcile_total{controller="model",result="success"} 3
reconcile_total{controller="model",result="error"} 1
reconcile_total{controller="other",result="success"} 1e+06
reconcile_total_created 7
heap_bytes 2.5e+07
`
	got, err := Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		metric string
		parts  []string
		want   float64
	}{
		"all series of a metric":         {metric: "reconcile_total", want: 1_000_004},
		"the series with a label":        {metric: "reconcile_total", parts: []string{`controller="model"`}, want: 4},
		"the series with several labels": {metric: "reconcile_total", parts: []string{`controller="model"`, `result="error"`}, want: 1},
		"a metric without labels":        {metric: "heap_bytes", want: 25_000_000},
		"an unknown metric":              {metric: "heap", want: 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if sum := got.Sum(tc.metric, tc.parts...); sum != tc.want {
				t.Errorf("Sum() = %v, want %v", sum, tc.want)
			}
		})
	}
}

func TestABrokenPageIsNoEmptyOne(t *testing.T) {
	t.Parallel()
	if _, err := Parse(strings.NewReader("a b\n")); err == nil {
		t.Error("a value that is no number must be an error")
	}
}
