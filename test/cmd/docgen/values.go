// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/valuetypes"
)

// valueTypes are the value types by name.
type valueTypes map[string]valuetypes.Type

func loadValues(dir string) (valueTypes, error) {
	list, err := valuetypes.Load(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	declared := valueTypes{}
	for _, t := range list {
		declared[t.Name] = t
	}
	return declared, nil
}

// valuesPage documents what each template renders and the values it gets.
func valuesPage(table []desired.Component, declared valueTypes) ([]byte, error) {
	roots := make([]string, 0, len(table))
	for _, component := range table {
		roots = append(roots, reflect.TypeOf(component.Values).Name())
	}
	order, err := declared.reachable(roots)
	if err != nil {
		return nil, err
	}
	p := newPage("Template values", "the types in templates/values",
		"Every object the operator writes is rendered from a template, and every template gets one value of the type named",
		"here. Values are complete: a template decides no defaults, sees no custom resource and no secret, and text may be any",
		"text, so it goes through `quote`, `toYaml` or another quoting function.",
		"",
		"This is contract version `"+values.ContractVersion+"`. Within it fields are added, never removed, renamed or given another type, and a",
		"template keeps its id.",
	)
	p.heading(2, "Templates")
	var rows [][]string
	for i, component := range table {
		rows = append(rows, []string{
			code(string(component.ID)), code(component.GVK.GroupVersion().String()) + " " + component.GVK.Kind, strconv.Itoa(component.Stage),
			link(roots[i]), text(component.WantedWhen), code(component.Requires),
		})
	}
	slices.SortFunc(rows, slices.Compare)
	p.table([]string{"Template", "Renders", "Stage", "Values", "Wanted when", "Requires"}, rows)
	p.line("\nObjects of a lower stage are applied first. An object is written only while the cluster serves what it requires.")
	p.heading(2, "Types")
	for i, name := range order {
		if i > 0 {
			p.line("")
		}
		typeSection(p, declared[name], declared)
	}
	return p.bytes(), nil
}

func typeSection(p *page, t valuetypes.Type, declared valueTypes) {
	p.line("### %s\n", t.Name)
	p.paragraph(strings.TrimSpace(t.Doc))
	if t.Underlying != "" {
		p.line("A %s.", declared.word(t.Underlying))
		return
	}
	rows := make([][]string, 0, len(t.Fields))
	for _, field := range t.Fields {
		rows = append(rows, []string{code(field.Name), declared.word(field.Type), text(field.Doc)})
	}
	p.table([]string{"Field", "Type", "Meaning"}, rows)
}

// reachable returns the given types and those of their fields, in the order in
// which a reader meets them. A type that no template gets is an error.
func (d valueTypes) reachable(roots []string) ([]string, error) {
	var order []string
	queue := slices.Sorted(slices.Values(roots))
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		t, known := d[name]
		if !known {
			return nil, fmt.Errorf("value type %s is not declared in templates/values", name)
		}
		if slices.Contains(order, name) {
			continue
		}
		order = append(order, name)
		for _, field := range t.Fields {
			if element := strings.TrimLeft(field.Type, "[]"); d.declares(element) {
				queue = append(queue, element)
			}
		}
	}
	for name := range d {
		if !slices.Contains(order, name) {
			return nil, fmt.Errorf("value type %s belongs to no template; remove it", name)
		}
	}
	return order, nil
}

func (d valueTypes) declares(name string) bool {
	_, known := d[name]
	return known
}

// word says a Go type in the words of the other pages.
func (d valueTypes) word(goType string) string {
	if element, isList := strings.CutPrefix(goType, "[]"); isList {
		return "list of " + d.word(element)
	}
	switch {
	case d.declares(goType):
		return link(goType)
	case goType == "map[string]string":
		return "map of string to string"
	case goType == "bool":
		return "boolean"
	case strings.HasPrefix(goType, "int"):
		return "integer"
	default:
		return goType
	}
}

func link(typeName string) string { return fmt.Sprintf("[%s](#%s)", typeName, anchor(typeName)) }
