// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values []float64
		want   float64
	}{
		"nothing measured":           {nil, 0},
		"one value":                  {[]float64{3}, 3},
		"the middle of an odd run":   {[]float64{9, 1, 2}, 2},
		"the mean of both middles":   {[]float64{4, 1, 3, 10}, 3.5},
		"an outlier does not matter": {[]float64{1, 1, 100}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Measure{Values: tc.values}).Median(); got != tc.want {
				t.Errorf("Median() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values []float64
		expect []expectation
		want   []string
	}{
		"within the bound":              {values: []float64{10}, expect: []expectation{atMost(10)}},
		"one value above the bound":     {values: []float64{1, 11, 1}, expect: []expectation{atMost(10)}, want: []string{"s: m is 11, must be at most 10"}},
		"zero is a bound":               {values: []float64{1}, expect: []expectation{atMost(0)}, want: []string{"s: m is 1, must be at most 0"}},
		"a missed aim breaks nothing":   {values: []float64{11}, expect: []expectation{aimingAt(10)}},
		"without a bound all are right": {values: []float64{11}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Scenario{Name: "s"}
			for _, v := range tc.values {
				s.add("m", Count, v, tc.expect...)
			}
			r := Report{Scenarios: []Scenario{s}}
			if diff := cmp.Diff(tc.want, r.Broken()); diff != "" {
				t.Errorf("Broken() (-want +got):\n%s", diff)
			}
		})
	}
}

func report(values map[string]float64, unit Unit) *Report {
	s := Scenario{Name: "s"}
	for _, name := range []string{"a", "b", "c"} {
		if v, ok := values[name]; ok {
			s.add(name, unit, v)
		}
	}
	return &Report{Scenarios: []Scenario{s}}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after *Report
		want          map[string]float64
	}{
		"half as many":                 {report(map[string]float64{"a": 10}, Count), report(map[string]float64{"a": 5}, Count), map[string]float64{"a": 0.5}},
		"nothing before and after":     {report(map[string]float64{"a": 0}, Count), report(map[string]float64{"a": 0}, Count), map[string]float64{"a": 1}},
		"something out of nothing":     {report(map[string]float64{"a": 0}, Count), report(map[string]float64{"a": 1}, Count), map[string]float64{"a": math.Inf(1)}},
		"only what both have":          {report(map[string]float64{"a": 1, "b": 1}, Count), report(map[string]float64{"b": 2, "c": 1}, Count), map[string]float64{"b": 2}},
		"scenarios of one report only": {report(map[string]float64{"a": 1}, Count), &Report{Scenarios: []Scenario{{Name: "other"}}}, map[string]float64{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for _, c := range Compare(tc.before, tc.after) {
				got[c.Measure] = c.Ratio()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ratios (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorseListsWhatGrewByMoreThanTheRatio(t *testing.T) {
	t.Parallel()
	changes := Compare(report(map[string]float64{"a": 10, "b": 10, "c": 10}, Count), report(map[string]float64{"a": 12, "b": 13, "c": 1}, Count))
	worse := Worse(changes, 1.2)
	if len(worse) != 1 || worse[0].Measure != "b" {
		t.Errorf("Worse() = %v, want b only", worse)
	}
}

func TestAReportIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.json")
	want := report(map[string]float64{"a": 1.5}, Seconds)
	want.Options = DefaultOptions()
	want.Environment.Commit = "abc"
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-written +read):\n%s", diff)
	}
}

func TestAFileThatIsNoReportIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := (&Report{}).Write(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "no scenario") {
		t.Errorf("Read() = %v, want an error that says what is missing", err)
	}
}

func TestPrintShowsEnvironmentFiguresAndVerdicts(t *testing.T) {
	t.Parallel()
	s := Scenario{Name: "burst", Title: "many at once"}
	s.add("writes", Count, 11, atMost(10))
	s.add("memory", MiB, 300, aimingAt(256))
	s.add("time", Seconds, 1.234)
	s.add("time", Seconds, 2)
	r := &Report{Environment: Environment{Commit: "abc"}, Scenarios: []Scenario{s}}
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"abc", "burst: many at once", "11 calls", "at most 10", "BROKEN", "aim 256", "missed", "1.62 s", "1.23 to 2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestPrintShowsAGridOfMedians(t *testing.T) {
	t.Parallel()
	s := Scenario{Name: "requests"}
	for _, v := range []float64{1, 2, 9} {
		s.cell("floor", "p99 ms", Millis, v)
	}
	s.cell("select", "p99 ms", Millis, 4)
	s.cell("select", "p99 / floor", Ratio, 2)
	var out strings.Builder
	if err := (&Report{Scenarios: []Scenario{s}}).Print(&out); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"p99 ms p99 / floor", "floor 2", "select 4 2"}
	if diff := cmp.Diff(want, lines[len(lines)-len(want):]); diff != "" {
		t.Errorf("the grid (-want +got):\n%s", diff)
	}
	if strings.Contains(out.String(), "measure") {
		t.Errorf("there is a list without an entry:\n%s", out.String())
	}
}

func TestPrintComparisonWarnsOfDifferentSizes(t *testing.T) {
	t.Parallel()
	before, after := report(map[string]float64{"a": 10}, Count), report(map[string]float64{"a": 5}, Count)
	after.Options.Service.Clients = []int{3}
	var out strings.Builder
	if err := PrintComparison(&out, before, after, Compare(before, after)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"different sizes", "10 calls", "5 calls", "0.50"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the comparison lacks %q:\n%s", want, out.String())
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Options)
		want   string
	}{
		"the defaults are valid": {func(*Options) {}, ""},
		"no subscriptions":       {func(o *Options) { o.Burst = 0 }, "--burst is 0: use a positive number"},
		"unknown scenario":       {func(o *Options) { o.Scenarios = []string{"brust"} }, `there is no scenario "brust": use some of burst, wide, many`},
		"no scenario":            {func(o *Options) { o.Scenarios = nil }, "no scenario is named"},
		"no clients":             {func(o *Options) { o.Service.Clients = nil }, "--clients is []: use positive numbers in rising order"},
		"falling numbers":        {func(o *Options) { o.Service.Subscriptions = []int{20, 10} }, "--subscriptions is [20 10]"},
		"more in use than there": {func(o *Options) { o.Service.InUse = o.Service.Keys + 1 }, "no more keys can be used than are stored"},
		"too short a measure":    {func(o *Options) { o.Service.Measure = 1 }, "--measure is 1ns: use at least 500ms"},
		"too short a rest":       {func(o *Options) { o.Idle = 1 }, "--idle is 1ns: use at least 5s"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := DefaultOptions()
			tc.change(&o)
			err := o.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Validate() = %v, want %q", err, tc.want)
			}
		})
	}
}
