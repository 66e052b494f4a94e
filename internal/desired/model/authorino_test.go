// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// authorino evaluates a generated AuthPolicy the way Authorino v0.25 does: one
// CEL environment of protobuf structs, evaluators whose condition fails or is
// an error are skipped, a failing value denies.
type authorino struct {
	t        *testing.T
	env      *cel.Env
	policy   *unstructured.Unstructured
	programs sync.Map
}

func newAuthorino(t *testing.T, policy *unstructured.Unstructured) *authorino {
	t.Helper()
	return &authorino{t: t, env: authorinoEnv(t, cel.OptionalTypes()), policy: policy}
}

// authorinoEnv is the environment Authorino evaluates in since v0.22; v0.25 has
// optional types in addition.
func authorinoEnv(t *testing.T, options ...cel.EnvOption) *cel.Env {
	t.Helper()
	object := cel.ObjectType("google.protobuf.Struct")
	env, err := cel.NewEnv(append(options,
		cel.Variable("metadata", object), cel.Variable("request", object), cel.Variable("source", object),
		cel.Variable("destination", object), cel.Variable("auth", object), ext.Strings(),
	)...)
	if err != nil {
		t.Fatalf("make environment: %v", err)
	}
	return env
}

// compile plans an expression and fails the test when it is no valid CEL.
func (a *authorino) compile(expression string) cel.Program {
	a.t.Helper()
	if known, ok := a.programs.Load(expression); ok {
		return known.(cel.Program)
	}
	ast, issues := a.env.Compile(expression)
	if issues.Err() != nil {
		a.t.Fatalf("compile %s: %v", expression, issues.Err())
	}
	program, err := a.env.Program(ast)
	if err != nil {
		a.t.Fatalf("plan %s: %v", expression, err)
	}
	a.programs.Store(expression, program)
	return program
}

// call is one request with what the authenticators and callbacks answered.
type call struct {
	headers  map[string]any
	identity any
	metadata map[string]any
	// seen is what the expressions are given, when it was made before.
	seen map[string]any
}

// prepared returns the call with its input made once for many expressions.
func (a *authorino) prepared(c call) call {
	a.t.Helper()
	c.seen = nil
	c.seen = a.input(c)
	return c
}

func (a *authorino) input(c call) map[string]any {
	a.t.Helper()
	if c.seen != nil {
		return c.seen
	}
	auth := map[string]any{}
	if c.identity != nil {
		auth["identity"] = c.identity
	}
	if c.metadata != nil {
		auth["metadata"] = c.metadata
	}
	request := map[string]any{"method": "POST", "path": "/llm/m/v1/chat/completions", "url_path": "/llm/m/v1/chat/completions"}
	if c.headers != nil {
		request["headers"] = c.headers
	}
	raw, err := json.Marshal(map[string]any{"request": request, "auth": auth, "source": map[string]any{}, "destination": map[string]any{}, "metadata": map[string]any{}})
	if err != nil {
		a.t.Fatalf("encode request: %v", err)
	}
	parsed := &structpb.Struct{}
	if err := protojson.Unmarshal(raw, parsed); err != nil {
		a.t.Fatalf("decode request: %v", err)
	}
	in := map[string]any{}
	for _, name := range []string{"metadata", "request", "source", "destination", "auth"} {
		in[name] = parsed.GetFields()[name]
	}
	return in
}

// eval returns the JSON value of an expression, or the evaluation's error.
func (a *authorino) eval(expression string, c call) (any, error) {
	a.t.Helper()
	value, _, err := a.compile(expression).Eval(a.input(c))
	if err != nil {
		return nil, err
	}
	native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, err
	}
	return native.(*structpb.Value).AsInterface(), nil
}

// must evaluates an expression that must not fail.
func (a *authorino) must(expression string, c call) any {
	a.t.Helper()
	value, err := a.eval(expression, c)
	if err != nil {
		a.t.Fatalf("evaluate %.200s: %v", expression, err)
	}
	return value
}

func (a *authorino) rules(section string) map[string]any {
	a.t.Helper()
	rules, _, err := unstructured.NestedMap(a.policy.Object, "spec", "rules", section)
	if err != nil {
		a.t.Fatalf("read rules: %v", err)
	}
	return rules
}

// denials are the names of the authorization rules that refuse a call.
func (a *authorino) denials(c call) map[string]bool {
	a.t.Helper()
	out := map[string]bool{}
	for name := range a.rules("authorization") {
		if !a.passes(name, c) {
			out[name] = true
		}
	}
	return out
}

// passes tells whether one authorization rule lets a call through.
func (a *authorino) passes(name string, c call) bool {
	a.t.Helper()
	rule, ok := a.rules("authorization")[name].(map[string]any)
	if !ok {
		a.t.Fatalf("there is no rule %s", name)
	}
	if _, conditional := rule["when"]; conditional {
		a.t.Errorf("rule %s has a condition: Authorino skips a rule whose condition fails", name)
	}
	patterns, _, err := unstructured.NestedSlice(rule, "patternMatching", "patterns")
	if err != nil {
		a.t.Fatalf("read rule %s: %v", name, err)
	}
	for _, pattern := range patterns {
		if holds, err := a.eval(pattern.(map[string]any)["predicate"].(string), c); err != nil || holds != true {
			return false
		}
	}
	return true
}

func (a *authorino) text(c call, path ...string) any {
	a.t.Helper()
	return a.must(a.expression(path...), c)
}

// expression reads an expression of the policy's rules.
func (a *authorino) expression(path ...string) string {
	a.t.Helper()
	expression, found, err := unstructured.NestedString(a.policy.Object, append([]string{"spec", "rules"}, path...)...)
	if err != nil || !found {
		a.t.Fatalf("no expression at %v: %v", path, err)
	}
	return expression
}

// properties are the identity exposed to rate limits.
func (a *authorino) properties(c call) map[string]any {
	a.t.Helper()
	properties, _, err := unstructured.NestedMap(a.policy.Object, "spec", "rules", "response", "success", "filters", "identity", "json", "properties")
	if err != nil {
		a.t.Fatalf("read identity properties: %v", err)
	}
	out := map[string]any{}
	for name, property := range properties {
		out[name] = a.must(property.(map[string]any)["expression"].(string), c)
	}
	return out
}
