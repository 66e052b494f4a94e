// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"strings"
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

// asked is a request, and the id and the key of the subscription chosen for it.
type asked struct{ method, path, id, key string }

// applies evaluates the predicate of every limit of a model and returns the
// names of those that hold.
func applies(t *testing.T, in model.Input, r asked) map[string]bool {
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
			"request": map[string]any{"method": r.method, "url_path": r.path, "path": r.path + "?x=/v1/models"},
			"auth":    map[string]any{"identity": map[string]any{"selected_subscription_id": r.id, "selected_subscription_key": r.key, "userid": "alice"}},
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
		in      model.Input
		request asked
		want    string
	}{
		"a short member's request":                {in, asked{"POST", inference, goldID, goldKey}, "tokens-100-per-1m-id"},
		"a legacy member's request":               {in, asked{"POST", inference, silverID, silverKey}, "tokens-100-per-1m"},
		"nobody's request":                        {in, asked{"POST", inference, "", ""}, ""},
		"listing models is exempt":                {in, asked{"GET", "/llm/my-model/v1/models", goldID, goldKey}, ""},
		"only reading the list is exempt":         {in, asked{"POST", "/llm/my-model/v1/models", goldID, goldKey}, "tokens-100-per-1m-id"},
		"a parameter of the path exempts nothing": {in, asked{"POST", inference + ";/v1/models", goldID, goldKey}, "tokens-100-per-1m-id"},
		"a query cannot exempt inference":         {in, asked{"GET", inference, goldID, goldKey}, "tokens-100-per-1m-id"},
		"a member among many":                     {many, asked{"POST", inference, goldID, goldKey}, "tokens-100-per-1m"},
		"an outsider among many":                  {many, asked{"POST", inference, "0000000000000000", "x"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := applies(t, test.in, test.request)
			if test.want == "" && len(got) > 0 || test.want != "" && (!got[test.want] || len(got) != 1) {
				t.Errorf("limits that apply: %v, want %q", got, test.want)
			}
		})
	}
}

// The policy holds a request of nobody against a limit of nothing, wherever it is for,
// and no other. In the gateway's filter, whatever an expression names is there, as null
// when nothing is known of it; another evaluator may have nothing there at all.
func TestNobodyGetsNothing(t *testing.T) {
	t.Parallel()
	in := input()
	in.Subscriptions = []model.Subscription{short("gold", rate(100, "1m")), legacy("silver", rate(100, "1m"))}
	env, policy := limitEnv(t), build(t, in).TokenRateLimitPolicy
	if !strings.Contains(policy.Nobody, "auth.") || strings.Contains(policy.Nobody, "request.") {
		t.Errorf("%s is judged before anybody is known, or not of every request", policy.Nobody)
	}
	for name, test := range map[string]struct {
		auth map[string]any
		want bool
	}{
		"nothing is known":        {map[string]any{}, true},
		"as the filter has it":    {map[string]any{"identity": map[string]any{"userid": nil}}, true},
		"somebody":                {map[string]any{"identity": map[string]any{"userid": "olga"}}, false},
		"somebody without a name": {map[string]any{"identity": map[string]any{"userid": ""}}, false}, // Rules refuse that.
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ast, issues := env.Compile(policy.Nobody)
			if issues.Err() != nil {
				t.Fatalf("compile %s: %v", policy.Nobody, issues.Err())
			}
			program, err := env.Program(ast)
			if err != nil {
				t.Fatalf("plan %s: %v", policy.Nobody, err)
			}
			if value, _, err := program.Eval(map[string]any{"auth": test.auth}); err != nil || value.Value() != test.want {
				t.Errorf("%s is %v, %v, want %t", policy.Nobody, value, err, test.want)
			}
		})
	}
	for _, limit := range policy.Limits {
		if strings.Contains(strings.ReplaceAll(limit.Predicate, "auth.identity.", ""), "auth.identity") {
			t.Errorf("%s names the identity as a whole, which hides what is in it from the filter", limit.Predicate)
		}
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
