// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// report is what the API server says about the installation, its tenants and the
// governed models.
type report struct {
	Configs []configReport
	Tenants []tenantReport
	Models  []modelReport
}

type modelReport struct {
	Name, Phase, Endpoint, BaseURL string
	Policies                       []policyReport
	Callers                        []callerReport
	Limits                         []limitReport
}

// policyReport is one generated Kuadrant object.
type policyReport struct {
	Kind, Name, State string
}

// callerReport is one access policy: callers it admits.
type callerReport struct {
	Policy, Phase string
	Groups, Users []string
}

// limitReport is one limit of the generated policy and who shares its rates.
type limitReport struct {
	Name    string
	Rates   []string
	Members []memberReport
}

type memberReport struct {
	Subscription, Phase string
	Groups, Users       []string
}

// render writes the report as tables for a person.
func render(w io.Writer, r report) error {
	for _, write := range []func() error{
		func() error { return renderConfigs(w, r.Configs) },
		func() error { return renderTenants(w, r.Tenants) },
	} {
		if err := write(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if len(r.Models) == 0 {
		_, err := fmt.Fprintln(w, "No MaaSModelRef exists.")
		return err
	}
	for i, m := range r.Models {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := renderModel(w, m); err != nil {
			return err
		}
	}
	return nil
}

func renderModel(w io.Writer, m modelReport) error {
	model := &block{header: []string{"MODEL", "PHASE", "ENDPOINT"}}
	model.row(m.Name, cmp.Or(m.Phase, "-"), cmp.Or(m.Endpoint, "-"))
	if m.BaseURL != "" {
		model.row("", "", m.BaseURL+" (model in the body)")
	}

	policies := &block{indent: "  ", header: []string{"POLICY OBJECT", "NAME", "STATE"}, none: "no policy objects"}
	for _, p := range m.Policies {
		policies.row(p.Kind, p.Name, p.State)
	}

	callers := &block{indent: "  ", header: []string{"WHO MAY CALL", "PHASE", "GROUPS", "USERS"}, none: "no access policies"}
	for _, c := range m.Callers {
		callers.row(c.Policy, cmp.Or(c.Phase, "-"), list(c.Groups), list(c.Users))
	}

	limits := &block{indent: "  ", header: []string{"LIMIT", "RATES", "MEMBERS", "PHASE", "GROUPS", "USERS"}, none: "no limits"}
	for _, l := range m.Limits {
		name, rates := l.Name, cmp.Or(strings.Join(l.Rates, ", "), "unlimited")
		if len(l.Members) == 0 {
			limits.row(name, rates, "-", "-", "-", "-")
		}
		for _, s := range l.Members {
			limits.row(name, rates, s.Subscription, cmp.Or(s.Phase, "-"), list(s.Groups), list(s.Users))
			name, rates = "", "" // further members of the same limit
		}
	}

	for i, b := range []*block{model, policies, callers, limits} {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := b.write(w); err != nil {
			return err
		}
	}
	return nil
}

// block is one table.
type block struct {
	indent string
	header []string
	rows   [][]string
	// none stands in for the rows when there are none.
	none string
}

func (b *block) row(cells ...string) { b.rows = append(b.rows, cells) }

func (b *block) write(w io.Writer) error {
	if len(b.rows) == 0 {
		_, err := fmt.Fprintf(w, "%s(%s)\n", b.indent, b.none)
		return err
	}
	const padding = 2
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, padding, ' ', 0)
	fmt.Fprintln(t, strings.Join(b.header, "\t"))
	for _, row := range b.rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(w, b.indent+strings.TrimRight(line, " \n"))
	}
	return nil
}

func list(items []string) string { return cmp.Or(strings.Join(items, ", "), "-") }
