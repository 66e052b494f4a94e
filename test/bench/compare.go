// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Change is how one measure differs between two reports.
type Change struct {
	Scenario, Measure string
	Unit              Unit
	Before, After     float64
}

// Ratio is after divided by before; 1 when both are zero.
func (c Change) Ratio() float64 {
	if c.Before == c.After {
		return 1
	}
	return c.After / c.Before // +Inf when something appeared out of nothing.
}

// Compare lists the measures that both reports have, in the order of the first.
func Compare(before, after *Report) []Change {
	var out []Change
	for _, a := range before.Scenarios {
		i := slices.IndexFunc(after.Scenarios, func(s Scenario) bool { return s.Name == a.Name })
		if i < 0 {
			continue
		}
		for _, m := range a.Measures {
			j := slices.IndexFunc(after.Scenarios[i].Measures, func(n Measure) bool { return n.Name == m.Name })
			if j >= 0 {
				out = append(out, Change{a.Name, m.Name, m.Unit, m.Median(), after.Scenarios[i].Measures[j].Median()})
			}
		}
	}
	return out
}

// Worse lists the changes whose ratio exceeds the given one.
func Worse(changes []Change, ratio float64) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Ratio() <= ratio })
}

// PrintComparison writes the changes as a table, below what tells the runs apart.
func PrintComparison(out io.Writer, before, after *Report, changes []Change) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\tbefore\tafter\n")
	rows, others := before.Environment.rows(), after.Environment.rows()
	for i := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", rows[i][0], rows[i][1], others[i][1])
	}
	if before.Options.Scale != after.Options.Scale || !before.Options.Service.Equal(after.Options.Service) {
		fmt.Fprint(w, "\nThe runs had different sizes: compare with care.\n")
	}
	scenario := ""
	for _, c := range changes {
		if c.Scenario != scenario {
			scenario = c.Scenario
			fmt.Fprintf(w, "\n%s\tbefore\tafter\tratio\n", scenario)
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s %s\t%.2f\n", c.Measure, number(c.Before), c.Unit, number(c.After), c.Unit, c.Ratio())
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print comparison: %w", err)
	}
	return nil
}
