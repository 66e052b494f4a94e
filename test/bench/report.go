// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Report is the result of one run, as it is stored.
type Report struct {
	Environment Environment `json:"environment"`
	Options     Options     `json:"options"`
	Scenarios   []Scenario  `json:"scenarios"`
}

// Scenario is one situation and its figures.
type Scenario struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Measures are in the order in which they are shown.
	Measures []Measure `json:"measures"`
}

// Unit is what a measure counts.
type Unit string

// The units of measures. Counts repeat exactly on an idle machine; times and
// memory do not.
const (
	Count   Unit = "calls"
	Ratio   Unit = "ratio"
	Seconds Unit = "s"
	Millis  Unit = "ms"
	KiB     Unit = "KiB"
	MiB     Unit = "MiB"
	Objects Unit = "objects"
	Runs    Unit = "reconciles"
	Micros  Unit = "µs"
	Percent Unit = "%"
	// PerSecond counts turns: what a client asks for one request of a model.
	PerSecond  Unit = "turns/s"
	Statements Unit = "statements"
)

// Measure is one figure; with repetitions it has several values.
type Measure struct {
	Name string `json:"name"`
	// Row and Column are where it stands in the grid of its scenario, if it has one.
	Row    string    `json:"row,omitempty"`
	Column string    `json:"column,omitempty"`
	Unit   Unit      `json:"unit"`
	Values []float64 `json:"values"`
	// Most is a bound that must hold for every value.
	Most *float64 `json:"most,omitempty"`
	// Aim is what the median should not exceed; missing it fails nothing.
	Aim *float64 `json:"aim,omitempty"`
}

// Median is the middle value.
func (m Measure) Median() float64 {
	if len(m.Values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(m.Values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Broken tells whether a value exceeds the bound.
func (m Measure) Broken() bool {
	return m.Most != nil && len(m.Values) > 0 && slices.Max(m.Values) > *m.Most
}

// Missed tells whether the median exceeds the aim.
func (m Measure) Missed() bool { return m.Aim != nil && m.Median() > *m.Aim }

// add records a value, and what is expected of it, under a name.
func (s *Scenario) add(name string, unit Unit, value float64, expect ...expectation) {
	i := slices.IndexFunc(s.Measures, func(m Measure) bool { return m.Name == name })
	if i < 0 {
		i = len(s.Measures)
		s.Measures = append(s.Measures, Measure{Name: name, Unit: unit})
	}
	m := &s.Measures[i]
	m.Values = append(m.Values, value)
	for _, e := range expect {
		e(m)
	}
}

// cell records a value in the scenario's grid. Its unit is part of the column.
func (s *Scenario) cell(row, column string, unit Unit, value float64, expect ...expectation) {
	name := row + ": " + column
	s.add(name, unit, value, expect...)
	i := slices.IndexFunc(s.Measures, func(m Measure) bool { return m.Name == name })
	s.Measures[i].Row, s.Measures[i].Column = row, column
}

// bound adds a bound to a measure that was recorded.
func (s *Scenario) bound(name string, most float64) {
	for i := range s.Measures {
		if s.Measures[i].Name == name {
			s.Measures[i].Most = &most
		}
	}
}

// expectation is a bound or an aim of a measure.
type expectation func(*Measure)

func atMost(bound float64) expectation   { return func(m *Measure) { m.Most = &bound } }
func aimingAt(bound float64) expectation { return func(m *Measure) { m.Aim = &bound } }

// Broken lists the bounds that did not hold.
func (r *Report) Broken() []string {
	var out []string
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			if m.Broken() {
				out = append(out, fmt.Sprintf("%s: %s is %s, must be at most %s", s.Name, m.Name, number(slices.Max(m.Values)), number(*m.Most)))
			}
		}
	}
	return out
}

// Write stores the report.
func (r *Report) Write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Read returns a stored report.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read report %s: %w", path, err)
	}
	if len(r.Scenarios) == 0 {
		return nil, fmt.Errorf("read report %s: it holds no scenario; make one with \"bench run --out %s\"", path, path)
	}
	return r, nil
}
