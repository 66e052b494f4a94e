// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Print writes the report as tables for a person.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range r.Environment.rows() {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
	for _, s := range r.Scenarios {
		fmt.Fprintf(w, "\n%s: %s\n", s.Name, s.Title)
		s.printGrid(w)
		if !slices.ContainsFunc(s.Measures, Measure.listed) {
			continue
		}
		fmt.Fprint(w, "measure\tmedian\trange\texpected\t\n")
		for _, m := range s.Measures {
			if !m.listed() {
				continue
			}
			fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", m.Name, number(m.Median()), m.Unit, m.spread(), m.expected(), m.verdict())
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// listed tells whether a measure stands in a line of its own.
func (m Measure) listed() bool { return m.Row == "" }

// printGrid writes the medians of the measures that have rows and columns, both in
// the order in which they come.
func (s *Scenario) printGrid(out io.Writer) {
	var rows, columns []string
	cells := map[[2]string]Measure{}
	for _, m := range s.Measures {
		if m.listed() {
			continue
		}
		if !slices.Contains(rows, m.Row) {
			rows = append(rows, m.Row)
		}
		if !slices.Contains(columns, m.Column) {
			columns = append(columns, m.Column)
		}
		cells[[2]string{m.Row, m.Column}] = m
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\t%s\n", strings.Join(columns, "\t"))
	for _, row := range rows {
		fmt.Fprint(out, row)
		for _, column := range columns {
			text := ""
			if m, measured := cells[[2]string{row, column}]; measured {
				text = number(m.Median())
			}
			fmt.Fprintf(out, "\t%s", text)
		}
		fmt.Fprintln(out)
	}
}

func (m Measure) spread() string {
	if len(m.Values) < 2 {
		return ""
	}
	return number(slices.Min(m.Values)) + " to " + number(slices.Max(m.Values))
}

func (m Measure) expected() string {
	switch {
	case m.Most != nil:
		return "at most " + number(*m.Most)
	case m.Aim != nil:
		return "aim " + number(*m.Aim)
	default:
		return ""
	}
}

func (m Measure) verdict() string {
	switch {
	case m.Broken():
		return "BROKEN"
	case m.Missed():
		return "missed"
	case m.Most != nil || m.Aim != nil:
		return "ok"
	default:
		return ""
	}
}

// number is short: three digits are more than these figures are worth.
func number(v float64) string {
	const whole, tenths = 100, 10
	switch {
	case v == float64(int64(v)) || v >= whole:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= tenths:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}
