// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"fmt"
	"maps"
	"slices"
)

// expression is one CEL text found in a policy.
type expression struct {
	path      string
	text      string
	dialect   dialect
	predicate bool
}

// expressionsOf lists every CEL text of a policy in a stable order.
func expressionsOf(kind Kind, spec map[string]any) []expression {
	proper, prefix := properSpec(spec)
	switch kind {
	case AuthPolicy:
		out := whenPredicates(prefix+".when", proper["when"], dialectGatewayAuth)
		out = append(out, walk(prefix+".patterns", proper["patterns"])...)
		return append(out, walk(prefix+".rules", proper["rules"])...)
	case TokenRateLimitPolicy:
		out := whenPredicates(prefix+".when", proper["when"], dialectGatewayLimit)
		return append(out, limitExpressions(prefix+".limits", proper["limits"])...)
	default:
		return nil
	}
}

// properSpec returns the part of a spec that holds the rules: explicit
// defaults, overrides, or the bare spec.
func properSpec(spec map[string]any) (map[string]any, string) {
	for _, key := range []string{"defaults", "overrides"} {
		if m, ok := spec[key].(map[string]any); ok {
			return m, "spec." + key
		}
	}
	return spec, "spec"
}

func limitExpressions(path string, limits any) []expression {
	byName, _ := limits.(map[string]any)
	var out []expression
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		limit, _ := byName[name].(map[string]any)
		at := path + "." + name
		out = append(out, whenPredicates(at+".when", limit["when"], dialectGatewayLimit)...)
		counters, _ := limit["counters"].([]any)
		for i, c := range counters {
			counter, _ := c.(map[string]any)
			if text, ok := counter["expression"].(string); ok {
				out = append(out, expression{
					path: fmt.Sprintf("%s.counters[%d].expression", at, i), text: text, dialect: dialectGatewayLimit,
				})
			}
		}
	}
	return out
}

func whenPredicates(path string, when any, d dialect) []expression {
	items, _ := when.([]any)
	var out []expression
	for i, item := range items {
		m, _ := item.(map[string]any)
		if text, ok := m["predicate"].(string); ok {
			out = append(out, expression{
				path: fmt.Sprintf("%s[%d].predicate", path, i), text: text, dialect: d, predicate: true,
			})
		}
	}
	return out
}

// walk collects the texts an AuthConfig would hand to Authorino. A `value` is
// free-form data, so nothing below it is an expression.
func walk(path string, node any) []expression {
	switch n := node.(type) {
	case []any:
		var out []expression
		for i, item := range n {
			out = append(out, walk(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
		return out
	case map[string]any:
		var out []expression
		for _, key := range slices.Sorted(maps.Keys(n)) {
			at := path + "." + key
			text, isText := n[key].(string)
			switch {
			case key == "value":
			case isText && (key == "predicate" || key == "expression" || key == "urlExpression"):
				out = append(out, expression{path: at, text: text, dialect: dialectAuthorino, predicate: key == "predicate"})
			default:
				out = append(out, walk(at, n[key])...)
			}
		}
		return out
	default:
		return nil
	}
}
