// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package enforced

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// variables are what expressions may read at one step.
type variables map[string]any

func (v variables) headers() map[string]any {
	headers, _ := v["request"].(map[string]any)["headers"].(map[string]any)
	return headers
}

// eval evaluates an expression, which must be valid.
func (g *Gateway) eval(expression string, in variables) (any, error) {
	g.t.Helper()
	program := g.program(expression)
	raw, err := json.Marshal(in)
	g.must(err, expression)
	parsed := &structpb.Struct{}
	g.must(protojson.Unmarshal(raw, parsed), expression)
	value, _, err := program.Eval(map[string]any{"request": parsed.GetFields()["request"], "auth": parsed.GetFields()["auth"]})
	if err != nil {
		g.Failed = append(g.Failed, fmt.Sprintf("%s: %v", expression, err))
		return nil, err
	}
	native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	g.must(err, expression)
	result := native.(*structpb.Value).AsInterface()
	if result == nil {
		g.Failed = append(g.Failed, expression+": null")
	}
	return result, nil
}

func (g *Gateway) program(expression string) cel.Program {
	g.t.Helper()
	if known, ok := g.programs[expression]; ok {
		return known
	}
	ast, issues := g.env.Compile(expression)
	g.must(issues.Err(), expression)
	program, err := g.env.Program(ast)
	g.must(err, expression)
	g.programs[expression] = program
	return program
}

func (g *Gateway) must(err error, expression string) {
	g.t.Helper()
	if err != nil {
		g.t.Fatalf("%s: %v", expression, err)
	}
}

// value evaluates an expression whose failure is noted; then it is nil.
func (g *Gateway) value(expression string, in variables) any {
	g.t.Helper()
	value, err := g.eval(expression, in)
	if err != nil {
		return nil
	}
	return value
}

// variables are what is known before anybody was asked.
func (r Request) variables() variables {
	path := cmp.Or(r.Path, "/llm/granite/v1/chat/completions")
	bare, query, _ := strings.Cut(path, "?")
	request := map[string]any{"method": cmp.Or(r.Method, "POST"), "path": path, "url_path": bare, "query": query}
	if r.Headers != nil {
		headers := map[string]any{}
		for name, value := range r.Headers {
			headers[strings.ToLower(name)] = value
		}
		request["headers"] = headers
	}
	return variables{"request": request, "auth": map[string]any{}}
}

func with(base map[string]any, name string, value any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = value
	return out
}
