// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	"github.com/opendatahub-io/maas-operator/internal/desired/model"
)

// limitEnv is the environment kuadrant-operator v1.5 checks predicates in: the
// request and what the AuthPolicy exposes are of any type.
func limitEnv(t *testing.T) *cel.Env {
	t.Helper()
	env, err := cel.NewEnv(ext.Strings(),
		cel.Variable("request", cel.AnyType), cel.Variable("source", cel.AnyType), cel.Variable("destination", cel.AnyType),
		cel.Variable("connection", cel.AnyType), cel.Variable("auth", cel.AnyType))
	if err != nil {
		t.Fatalf("make environment: %v", err)
	}
	return env
}

// applies evaluates the predicate of every limit of a model and returns the
// names of those that hold.
func applies(t *testing.T, in model.Input, path, id, key string) map[string]bool {
	t.Helper()
	env, out := limitEnv(t), map[string]bool{}
	for _, limit := range build(t, in).TokenRateLimitPolicy.Limits {
		ast, issues := env.Compile(limit.Predicate)
		if issues.Err() != nil {
			t.Fatalf("compile %s: %v", limit.Predicate, issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			t.Fatalf("plan %s: %v", limit.Predicate, err)
		}
		value, _, err := program.Eval(map[string]any{
			"request": map[string]any{"url_path": path, "path": path + "?x=/v1/models"},
			"auth":    map[string]any{"identity": map[string]any{"selected_subscription_id": id, "selected_subscription_key": key, "userid": "alice"}},
		})
		if err != nil {
			t.Fatalf("evaluate %s: %v", limit.Predicate, err)
		}
		if value.Value() == true {
			out[limit.Name] = true
		}
	}
	return out
}

func TestWhichLimitAppliesToARequest(t *testing.T) {
	t.Parallel()
	const (
		inference = "/llm/my-model/v1/chat/completions"
		goldID    = "790b74af224deb46"
		goldKey   = "models-as-a-service/gold@llm/my-model"
		silverID  = "347e29af6f94d1cd"
		silverKey = "models-as-a-service/silver@llm/my-model"
	)
	in := input()
	in.Subscriptions = []model.Subscription{short("gold", rate(100, "1m")), legacy("silver", rate(100, "1m"))}
	many := input()
	for _, name := range manyNames() {
		many.Subscriptions = append(many.Subscriptions, short(name, rate(100, "1m")))
	}
	tests := map[string]struct {
		in            model.Input
		path, id, key string
		want          string
	}{
		"a short member's request":        {in, inference, goldID, goldKey, "tokens-100-per-1m-id"},
		"a legacy member's request":       {in, inference, silverID, silverKey, "tokens-100-per-1m"},
		"nobody's request":                {in, inference, "", "", ""},
		"listing models is exempt":        {in, "/llm/my-model/v1/models", goldID, goldKey, ""},
		"a query cannot exempt inference": {in, inference, goldID, goldKey, "tokens-100-per-1m-id"},
		"a member among many":             {many, inference, goldID, goldKey, "tokens-100-per-1m"},
		"an outsider among many":          {many, inference, "0000000000000000", "x", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := applies(t, test.in, test.path, test.id, test.key)
			if test.want == "" && len(got) > 0 || test.want != "" && (!got[test.want] || len(got) != 1) {
				t.Errorf("limits that apply: %v, want %q", got, test.want)
			}
		})
	}
}

func manyNames() []string {
	names := []string{"gold"}
	for c := 'a'; c <= 'z'; c++ {
		for d := 'a'; d <= 'd'; d++ {
			names = append(names, string([]rune{c, d}))
		}
	}
	return names
}
