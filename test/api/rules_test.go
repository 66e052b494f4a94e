// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"strings"
)

// rule is one row of the table: what one or more constraints on a field accept and
// refuse. Each value becomes specs of its own.
type rule struct {
	kind    kind
	name    string
	field   string // What the values are put into, in a copy of the kind's manifest.
	root    bool   // The CEL rule is on the object, not on the field.
	covers  []string
	accepts []any
	refuses []any
	message string // Part of the refusal. For a CEL rule: its whole message.
}

// handwritten are the rows of all CEL rules, patterns and bounds that were chosen for
// this API; the rest of the rows is derived from the CRDs.
func handwritten() []rule {
	return slices.Concat(
		modelRefRules(), authPolicyRules(), subscriptionRules(), externalModelRules(),
		tenantRules(), configRules(), inferenceRules(),
	)
}

// derived returns a row for every constraint of the CRDs that no handwritten row
// covers and for which a violation can be computed. The others are returned too.
func derived(all []constraint, rows []rule) (derivedRows []rule, uncovered []constraint) {
	covered := map[string]bool{}
	for _, row := range rows {
		for _, c := range row.covered() {
			covered[c] = true
		}
	}
	for _, c := range all {
		if covered[c.id()] {
			continue
		}
		if row, ok := derive(c); ok {
			derivedRows = append(derivedRows, row)
		} else {
			uncovered = append(uncovered, c)
		}
	}
	return derivedRows, uncovered
}

// id identifies a constraint. Bounds are part of it, so that a changed bound needs a
// changed row.
func (c constraint) id() string {
	if c.value == nil {
		return fmt.Sprintf("%s %s %s", c.kind, c.path, c.keyword)
	}
	return fmt.Sprintf("%s %s %s=%v", c.kind, c.path, c.keyword, c.value)
}

// covered lists the constraints a row covers: the named keywords of its field, or the
// CEL rule with its message.
func (r rule) covered() []string {
	path := schemaPath(r.field)
	if r.root {
		path = ""
	}
	if len(r.covers) == 0 {
		return []string{constraint{r.kind, path, "cel", r.message}.id()}
	}
	var ids []string
	for _, keyword := range r.covers {
		ids = append(ids, fmt.Sprintf("%s %s %s", r.kind, path, keyword))
	}
	return ids
}

// derive computes a violation of a constraint.
func derive(c constraint) (rule, bool) {
	field, present := firstField(manifest(c.kind), c.path)
	row := rule{kind: c.kind, name: c.path + ": " + c.keyword, field: field}
	inBody := strings.TrimPrefix(field, "status.") + " in body" // A status is validated by itself.
	switch c.keyword {
	case "required":
		row.refuses, row.message = []any{absent{}}, field+": Required value"
	case "enum":
		row.refuses, row.message = []any{"Nonsense"}, field+": Unsupported value: \"Nonsense\""
	case "minLength":
		row.refuses = []any{strings.Repeat("a", int(c.value.(int64)-1))}
		row.message = fmt.Sprintf("%s should be at least %v chars long", inBody, c.value)
	case "maxLength":
		row.refuses = []any{strings.Repeat("a", int(c.value.(int64)+1))}
		row.message = fmt.Sprintf("%s: Too long: may not be more than %v bytes", field, c.value)
	case "minimum":
		row.refuses = []any{c.value.(int64) - 1}
		row.message = fmt.Sprintf("%s should be greater than or equal to %v", inBody, c.value)
	case "maximum":
		row.refuses = []any{c.value.(int64) + 1}
		row.message = fmt.Sprintf("%s should be less than or equal to %v", inBody, c.value)
	case "minItems":
		row.refuses = []any{[]any{}}
		row.message = fmt.Sprintf("%s should have at least %v items", inBody, c.value)
	case "maxItems":
		list, ok := present.([]any)
		if !ok {
			return rule{}, false
		}
		row.refuses = []any{slices.Repeat(list[:1], int(c.value.(int64)+1))}
		row.message = fmt.Sprintf("%s: Too many: %d: must have at most %v items", field, c.value.(int64)+1, c.value)
	default:
		return rule{}, false
	}
	row.accepts = []any{present}
	return row, present != nil
}

// list returns a list of n values made by their number, starting with 0.
func list(n int, value func(int) any) []any {
	var values []any
	for i := range n {
		values = append(values, value(i))
	}
	return values
}
