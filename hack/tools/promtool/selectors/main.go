// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command selectors tells which series and labels PromQL expressions ask for. It reads a
// JSON object of expressions by name from standard input, and writes one of reports by
// the same names to standard output. Which of them exist, others decide: see test/rules.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// report is what one expression asks for.
type report struct {
	Selectors []selector `json:"selectors"`
	// Labels are those it groups by, matches on or takes over, sorted.
	Labels []string `json:"labels"`
}

// selector is one selector of series.
type selector struct {
	// Metric is the name; Pattern a regular expression for it, when there is no name.
	Metric  string `json:"metric,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	// Matchers are the others.
	Matchers []matcher `json:"matchers"`
}

type matcher struct {
	Label string `json:"label"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "selectors:", err)
		os.Exit(1)
	}
}

func run() error {
	var expressions map[string]string
	if err := json.NewDecoder(os.Stdin).Decode(&expressions); err != nil {
		return fmt.Errorf("read expressions: %w", err)
	}
	p := parser.NewParser(parser.Options{})
	reports := map[string]report{}
	for name, text := range expressions {
		expression, err := p.ParseExpr(text)
		if err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		reports[name] = look(expression)
	}
	return json.NewEncoder(os.Stdout).Encode(reports)
}

func look(expression parser.Expr) report {
	var r report
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			r.Selectors = append(r.Selectors, selectorOf(n))
		case *parser.AggregateExpr:
			r.Labels = append(r.Labels, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				r.Labels = append(append(r.Labels, n.VectorMatching.MatchingLabels...), n.VectorMatching.Include...)
			}
		}
		return nil
	})
	slices.Sort(r.Labels)
	r.Labels = slices.Compact(r.Labels)
	return r
}

func selectorOf(n *parser.VectorSelector) selector {
	var s selector
	for _, m := range n.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual:
			s.Metric = m.Value
		case m.Name == model.MetricNameLabel && m.Type == labels.MatchRegexp:
			s.Pattern = m.Value
		default:
			s.Matchers = append(s.Matchers, matcher{m.Name, m.Type.String(), m.Value})
		}
	}
	return s
}
