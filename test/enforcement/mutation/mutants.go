// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Mutant is a policy without one of its rules.
type Mutant struct {
	// Rule names what is missing, such as "authorization/auth-valid".
	Rule string
	// Remove takes it out of the rules of a policy, if they have it.
	Remove func(rules map[string]any)
}

// evaluated are the sections of a policy whose members have names.
var evaluated = []string{"authentication", "metadata", "authorization"}

// Mutants are all that can be taken out of the rules of an AuthPolicy: each evaluator,
// its conditions, each predicate and each operand of a predicate that is a conjunction,
// each header and property of an answer that lets a request through, and each part of a
// refusal. Caches are no rules: what they let pass, they let pass for a while.
func Mutants(rules map[string]any) []Mutant {
	var all []Mutant
	for _, section := range evaluated {
		evaluators, _ := rules[section].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(evaluators)) {
			all = append(all, without(section, name))
			evaluator, _ := evaluators[name].(map[string]any)
			if evaluator["when"] != nil {
				all = append(all, without(section, name, "when"))
			}
			all = append(all, patterns(section, name, evaluator)...)
		}
	}
	return append(all, answers(rules)...)
}

// answers are what can be taken out of the answers of a policy.
func answers(rules map[string]any) []Mutant {
	var all []Mutant
	response, _ := rules["response"].(map[string]any)
	success, _ := response["success"].(map[string]any)
	headers, _ := success["headers"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		all = append(all, without("response", "success", "headers", name))
	}
	for _, name := range slices.Sorted(maps.Keys(at(success, "filters", "identity", "json", "properties"))) {
		all = append(all, without("response", "success", "filters", "identity", "json", "properties", name))
	}
	for _, refusal := range []string{"unauthenticated", "unauthorized"} {
		parts, _ := response[refusal].(map[string]any)
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			all = append(all, without("response", refusal, part))
		}
	}
	return all
}

// without is the policy that lacks what is at a path.
func without(path ...string) Mutant {
	return Mutant{Rule: strings.Join(path, "/"), Remove: func(rules map[string]any) {
		if parent := at(rules, path[:len(path)-1]...); parent != nil {
			delete(parent, path[len(path)-1])
		}
	}}
}

// at is the object at a path; nil if there is none.
func at(node map[string]any, path ...string) map[string]any {
	for _, step := range path {
		node, _ = node[step].(map[string]any)
	}
	return node
}

// patterns are the predicates of a rule that has several, and the operands of those
// that are conjunctions.
func patterns(section, name string, evaluator map[string]any) []Mutant {
	list, _ := at(evaluator, "patternMatching")["patterns"].([]any)
	var all []Mutant
	for i, entry := range list {
		if len(list) > 1 {
			all = append(all, Mutant{Rule: fmt.Sprintf("%s/%s/%d", section, name, i+1), Remove: func(rules map[string]any) {
				if parent := at(rules, section, name, "patternMatching"); parent != nil {
					parent["patterns"] = slices.Delete(slices.Clone(parent["patterns"].([]any)), i, i+1)
				}
			}})
		}
		pattern, _ := entry.(map[string]any)
		predicate, _ := pattern["predicate"].(string)
		for _, operand := range operands(predicate) {
			all = append(all, Mutant{Rule: fmt.Sprintf("%s/%s/%d: %s", section, name, i+1, operand.text(predicate)), Remove: func(rules map[string]any) {
				parent := at(rules, section, name, "patternMatching")
				if parent == nil {
					return
				}
				patterns, _ := parent["patterns"].([]any)
				if i >= len(patterns) {
					return
				}
				whole, _ := patterns[i].(map[string]any)
				if live, _ := whole["predicate"].(string); live == predicate {
					whole["predicate"] = operand.removed(predicate)
				} else if own := operandLike(live, operand.text(predicate)); own != nil {
					whole["predicate"] = own.removed(live)
				}
			}})
		}
	}
	return all
}

// operandLike is the operand of another predicate with the same text; nil if it has
// none.
func operandLike(predicate, text string) *span {
	for _, o := range operands(predicate) {
		if o.text(predicate) == text {
			return &o
		}
	}
	return nil
}
