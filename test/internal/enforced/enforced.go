// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enforced decides requests by generated policies, an AuthPolicy as
// Authorino reads it and limits as the gateway counts by them: those of one model, of
// maas-api or of a Gateway itself.
// It knows nothing of how the policies came to be, and stands in for neither
// product: it follows only what the generated policies use.
package enforced

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// T is what a test is told by: *testing.T, or Ginkgo's.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Limit is a limit of a generated policy as a gateway reads it.
type Limit struct {
	Name, Predicate string
	Counters        []string
	// Closed limits let nothing pass: their rate is zero.
	Closed bool
}

// Gateway lets requests through, or not: a failing condition skips an
// authenticator or a callback, and a failing rule denies. It is for one test.
type Gateway struct {
	// Rules are those of the AuthPolicy.
	Rules map[string]any
	// Failed are the expressions that came to an error or to null.
	Failed []string

	// conditions are those of the whole AuthPolicy.
	conditions []any

	t      T
	env    *cel.Env
	limits []Limit
	// programs are the expressions that were compiled.
	programs map[string]cel.Program
}

// New returns a gateway with the rules of an AuthPolicy and the limits beside it.
func New(t T, rules map[string]any, limits []Limit) *Gateway {
	t.Helper()
	object := cel.ObjectType("google.protobuf.Struct")
	env, err := cel.NewEnv(cel.Variable("request", object), cel.Variable("auth", object), ext.Strings())
	if err != nil {
		t.Fatalf("make environment: %v", err)
	}
	return &Gateway{Rules: rules, t: t, env: env, limits: limits, programs: map[string]cel.Program{}}
}

// Request is a request of a client, with what those say whom the gateway asks.
type Request struct {
	Method string // POST by default.
	Path   string // With its query; a completion by default.
	// Headers have one name in whatever case; a gateway knows them in small letters.
	Headers map[string]any
	// Claims are those of the token, when the tenant's provider signed it; Review is
	// what the cluster says of it. Nil: it is not known there.
	Claims, Review any
	// Validate and Selected answer the callbacks; a nil function does not answer.
	Validate, Selected func(body map[string]any) any
}

// Answer is what becomes of a request.
type Answer struct {
	Status int
	By     string // The authenticator that accepted the credential.
	// Asked are the bodies of the callbacks, Cached their cache keys.
	Asked, Cached map[string]any
	Headers       map[string]any
	Identity      map[string]any
	Message       any
	// Counted are the limits that count the request, with the values of their counters.
	Counted map[string][]any
}

// Section is a part of the rules: its evaluators by priority, then by name.
func (g *Gateway) Section(name string) []string {
	evaluators, _ := g.Rules[name].(map[string]any)
	priority := func(e string) int64 {
		p, _ := evaluators[e].(map[string]any)["priority"].(int64)
		return p
	}
	return slices.SortedFunc(maps.Keys(evaluators), func(a, b string) int {
		return cmp.Or(cmp.Compare(priority(a), priority(b)), strings.Compare(a, b))
	})
}

// at reads inside the rules; the path must exist.
func (g *Gateway) at(path ...string) any {
	g.t.Helper()
	var node any = g.Rules
	for _, step := range path {
		parent, _ := node.(map[string]any)
		inner, found := parent[step]
		if !found {
			g.t.Fatalf("the rules have no %v", path)
		}
		node = inner
	}
	return node
}

func (g *Gateway) expression(path ...string) string {
	g.t.Helper()
	return g.at(append(path, "expression")...).(string)
}

// wanted tells whether the conditions of an evaluator hold.
func (g *Gateway) wanted(evaluator map[string]any, in variables) bool {
	g.t.Helper()
	conditions, _ := evaluator["when"].([]any)
	return g.hold(conditions, in)
}

func (g *Gateway) hold(conditions []any, in variables) bool {
	g.t.Helper()
	for _, c := range conditions {
		condition := c.(map[string]any)
		if predicate, ok := condition["predicate"].(string); ok {
			if g.value(predicate, in) != true {
				return false
			}
			continue
		}
		header, found := strings.CutPrefix(condition["selector"].(string), "request.headers.")
		if !found || condition["operator"] != "matches" {
			g.t.Fatalf("condition %v: only the pattern of a header is understood", condition)
		}
		text, _ := in.headers()[header].(string)
		if !regexp.MustCompile(condition["value"].(string)).MatchString(text) {
			return false
		}
	}
	return true
}

// authenticate returns who accepts the credential, and the identity. Authorino asks
// those of one priority at a time, so only one of them may want to be asked.
func (g *Gateway) authenticate(r Request, in variables) (by string, identity any) {
	g.t.Helper()
	asked := map[any]string{}
	for _, name := range g.Section("authentication") {
		authenticator := g.at("authentication", name).(map[string]any)
		if !g.wanted(authenticator, in) {
			continue
		}
		if other, also := asked[authenticator["priority"]]; also {
			g.Failed = append(g.Failed, fmt.Sprintf("authenticators %s and %s want the same request", other, name))
		}
		asked[authenticator["priority"]] = name
		if found := g.accepted(name, authenticator, r, in); found != nil && by == "" {
			by, identity = name, found
		}
	}
	return by, identity
}

// accepted is the identity that an authenticator finds, or nil.
func (g *Gateway) accepted(name string, authenticator map[string]any, r Request, in variables) any {
	g.t.Helper()
	bearer, _ := in.headers()["authorization"].(string)
	bearer, sent := strings.CutPrefix(bearer, "Bearer ")
	switch {
	case authenticator["plain"] != nil:
		header := strings.TrimPrefix(g.at("authentication", name, "plain", "selector").(string), "request.headers.")
		return in.headers()[header]
	case authenticator["jwt"] != nil && sent && bearer != "":
		return r.Claims
	case authenticator["kubernetesTokenReview"] != nil && sent && bearer != "":
		return r.Review
	default:
		return nil
	}
}

// callbacks asks maas-api what the policy wants to know.
func (g *Gateway) callbacks(r Request, in variables, a *Answer) {
	g.t.Helper()
	replies := map[string]func(map[string]any) any{"apiKeyValidation": r.Validate, "subscription-info": r.Selected}
	for _, name := range g.Section("metadata") {
		callback := g.at("metadata", name).(map[string]any)
		if !g.wanted(callback, in) {
			continue
		}
		reply, expected := replies[name]
		if !expected {
			g.t.Fatalf("callback %s is not understood", name)
		}
		body := g.value(g.expression("metadata", name, "http", "body"), in).(map[string]any)
		a.Asked[name] = body
		if callback["cache"] != nil {
			a.Cached[name] = g.value(g.expression("metadata", name, "cache", "key"), in)
		}
		if reply != nil {
			auth := in["auth"].(map[string]any)
			known, _ := auth["metadata"].(map[string]any)
			auth["metadata"] = with(known, name, reply(body))
		}
	}
}

// denials are the rules that refuse what is known of a request.
func (g *Gateway) denials(in variables) []string {
	g.t.Helper()
	var out []string
	for _, name := range g.Section("authorization") {
		rule := g.at("authorization", name).(map[string]any)
		if _, conditional := rule["when"]; conditional {
			g.t.Fatalf("rule %s has a condition: Authorino skips a rule whose condition fails", name)
		}
		for _, pattern := range g.at("authorization", name, "patternMatching", "patterns").([]any) {
			if g.value(pattern.(map[string]any)["predicate"].(string), in) != true {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// Denials are the rules that refuse a request when no callback answers.
func (g *Gateway) Denials(r Request) []string {
	g.t.Helper()
	in := r.variables()
	_, in["auth"].(map[string]any)["identity"] = g.authenticate(r, in)
	return g.denials(in)
}

// Serve decides a request.
func (g *Gateway) Serve(r Request) Answer {
	g.t.Helper()
	a := Answer{Asked: map[string]any{}, Cached: map[string]any{}, Headers: map[string]any{}, Identity: map[string]any{}, Counted: map[string][]any{}}
	in := r.variables()
	if !g.hold(g.conditions, in) {
		return g.pass(in, a)
	}
	if a.By, in["auth"].(map[string]any)["identity"] = g.authenticate(r, in); a.By == "" {
		a.Status = 401
		return a
	}
	g.callbacks(r, in, &a)
	if len(g.denials(in)) > 0 {
		a.Status, a.Message = 403, g.text(in, "response", "unauthorized", "body")
		return a
	}
	for name := range g.at("response", "success", "headers").(map[string]any) {
		a.Headers[name] = g.value(g.expression("response", "success", "headers", name, "plain"), in)
	}
	properties := g.at("response", "success", "filters", "identity", "json", "properties").(map[string]any)
	for name := range properties {
		a.Identity[name] = g.value(g.expression("response", "success", "filters", "identity", "json", "properties", name), in)
	}
	return g.pass(in, a)
}

// text is a fixed text, or an expression's.
func (g *Gateway) text(in variables, path ...string) any {
	g.t.Helper()
	if source := g.at(path...).(map[string]any); source["value"] != nil {
		return source["value"]
	}
	return g.value(g.expression(path...), in)
}

// pass lets a request on to the limits.
func (g *Gateway) pass(in variables, a Answer) Answer {
	g.t.Helper()
	a.Status = 200
	for _, name := range g.count(in, &a) {
		if slices.ContainsFunc(g.limits, func(l Limit) bool { return l.Name == name && l.Closed }) {
			a.Status = 429
		}
	}
	return a
}

// count finds the limits that a request counts for; the gateway hands them the
// identity that the AuthPolicy made. One whose counter cannot be made out counts
// nothing.
func (g *Gateway) count(in variables, a *Answer) []string {
	g.t.Helper()
	seen := variables{"request": in["request"], "auth": map[string]any{"identity": a.Identity}}
	for _, l := range g.limits {
		if g.value(l.Predicate, seen) != true {
			continue
		}
		counters, known := []any{}, true
		for _, counter := range l.Counters {
			value, err := g.eval(counter, seen)
			known = known && err == nil
			counters = append(counters, value)
		}
		if known {
			a.Counted[l.Name] = counters
		}
	}
	return slices.Sorted(maps.Keys(a.Counted))
}
