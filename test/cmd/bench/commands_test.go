// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/bench"
)

// stored writes a report with one count of calls and returns its path.
func stored(t *testing.T, calls float64) string {
	t.Helper()
	r := &bench.Report{Scenarios: []bench.Scenario{{
		Name: "burst", Measures: []bench.Measure{
			{Name: "all calls", Unit: bench.Count, Values: []float64{calls}},
			{Name: "time", Unit: bench.Seconds, Values: []float64{calls}},
		},
	}}}
	path := filepath.Join(t.TempDir(), "report.json")
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// run executes the command line and returns what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	cmd := newRootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after float64
		flags         []string
		wantBroken    bool
	}{
		"more calls are shown, not judged":           {before: 100, after: 200},
		"more calls than allowed":                    {before: 100, after: 200, flags: []string{"--fail-above", "1.5"}, wantBroken: true},
		"as many more as allowed":                    {before: 100, after: 150, flags: []string{"--fail-above", "1.5"}},
		"fewer calls":                                {before: 100, after: 50, flags: []string{"--fail-above", "1"}},
		"calls where there were none are always bad": {before: 0, after: 1, flags: []string{"--fail-above", "10"}, wantBroken: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, append([]string{"compare", stored(t, tc.before), stored(t, tc.after)}, tc.flags...)...)
			if got := errors.Is(err, errBroken); got != tc.wantBroken || err != nil && !got {
				t.Fatalf("error = %v, want broken = %v", err, tc.wantBroken)
			}
			if !strings.Contains(out, "all calls") {
				t.Errorf("the table is missing:\n%s", out)
			}
			if err != nil && strings.Contains(err.Error(), "time") {
				t.Errorf("times are judged, which differ between machines: %v", err)
			}
		})
	}
}

func TestWhatCannotBeDoneSaysWhy(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"an unknown scenario":  {[]string{"run", "brust"}, "use some of burst, wide, many"},
		"a size below one":     {[]string{"run", "--models", "0"}, "--models is 0"},
		"a report that is not": {[]string{"compare", "nowhere.json", "nowhere.json"}, "nowhere.json"},
		"only one report":      {[]string{"compare", "a.json"}, "accepts 2 arg"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := run(t, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want it to say %q", err, tc.want)
			}
		})
	}
}
