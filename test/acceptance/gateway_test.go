// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/types"
)

// gateway lets requests through, or not, by the policies of one model that the
// API server holds at that moment: the AuthPolicy as Authorino reads it, with a
// failing condition skipping an authenticator or a callback and a failing rule
// denying, and the limits as the gateway counts by them. It knows nothing of how
// the policies came to be.
type gateway struct {
	env    *cel.Env
	rules  map[string]any
	limits []tokenLimit
	// failed are the expressions that came to an error or to null.
	failed []string
}

// gateway reads both policies of a model; the limits may be absent.
func (w world) gateway(model types.NamespacedName) *gateway {
	GinkgoHelper()
	policy := w.authPolicyOf(model)
	Expect(policy).NotTo(BeNil(), "the AuthPolicy of %s", model)
	object := cel.ObjectType("google.protobuf.Struct")
	env, err := cel.NewEnv(cel.Variable("request", object), cel.Variable("auth", object), ext.Strings())
	Expect(err).NotTo(HaveOccurred())
	return &gateway{env: env, rules: policy.Object["spec"].(map[string]any)["rules"].(map[string]any), limits: w.limits(model)()}
}

// inference is a request, with what those say whom the gateway asks.
type inference struct {
	path    string // With its query; a completion by default.
	headers map[string]any
	// claims are those of the token, when the tenant's provider signed it; review is
	// what the cluster says of it. Nil: it is not known there.
	claims, review any
	// validate and selected answer the callbacks; a nil function does not answer.
	validate, selected func(body map[string]any) any
}

// answer is what becomes of a request.
type answer struct {
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

// variables are what expressions may read at one step.
type variables map[string]any

// eval evaluates an expression, which must be valid.
func (g *gateway) eval(expression string, in variables) (any, error) {
	GinkgoHelper()
	ast, issues := g.env.Compile(expression)
	Expect(issues.Err()).NotTo(HaveOccurred(), expression)
	program, err := g.env.Program(ast)
	Expect(err).NotTo(HaveOccurred(), expression)
	raw, err := json.Marshal(in)
	Expect(err).NotTo(HaveOccurred())
	parsed := &structpb.Struct{}
	Expect(protojson.Unmarshal(raw, parsed)).To(Succeed())
	value, _, err := program.Eval(map[string]any{"request": parsed.GetFields()["request"], "auth": parsed.GetFields()["auth"]})
	if err != nil {
		g.failed = append(g.failed, fmt.Sprintf("%s: %v", expression, err))
		return nil, err
	}
	native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	Expect(err).NotTo(HaveOccurred(), expression)
	result := native.(*structpb.Value).AsInterface()
	if result == nil {
		g.failed = append(g.failed, expression+": null")
	}
	return result, nil
}

// value evaluates an expression whose failure is noted; then it is nil.
func (g *gateway) value(expression string, in variables) any {
	GinkgoHelper()
	value, err := g.eval(expression, in)
	if err != nil {
		return nil
	}
	return value
}

// section is a part of the rules: its evaluators by priority, then by name.
func (g *gateway) section(name string) []string {
	evaluators, _ := g.rules[name].(map[string]any)
	priority := func(e string) int64 {
		p, _ := evaluators[e].(map[string]any)["priority"].(int64)
		return p
	}
	return slices.SortedFunc(maps.Keys(evaluators), func(a, b string) int {
		return cmp.Or(cmp.Compare(priority(a), priority(b)), strings.Compare(a, b))
	})
}

// at reads inside the rules; the path must exist.
func (g *gateway) at(path ...string) any {
	GinkgoHelper()
	var node any = g.rules
	for _, step := range path {
		parent, _ := node.(map[string]any)
		Expect(parent).To(HaveKey(step), "%v", path)
		node = parent[step]
	}
	return node
}

func (g *gateway) expression(path ...string) string {
	GinkgoHelper()
	return g.at(append(path, "expression")...).(string)
}

// wanted tells whether the conditions of an evaluator hold.
func (g *gateway) wanted(evaluator map[string]any, in variables) bool {
	GinkgoHelper()
	conditions, _ := evaluator["when"].([]any)
	for _, c := range conditions {
		condition := c.(map[string]any)
		if predicate, ok := condition["predicate"].(string); ok {
			if g.value(predicate, in) != true {
				return false
			}
			continue
		}
		Expect(condition["operator"]).To(Equal("matches"))
		header, found := strings.CutPrefix(condition["selector"].(string), "request.headers.")
		Expect(found).To(BeTrue())
		headers, _ := in["request"].(map[string]any)["headers"].(map[string]any)
		text, _ := headers[header].(string)
		if !regexp.MustCompile(condition["value"].(string)).MatchString(text) {
			return false
		}
	}
	return true
}

// authenticate returns who accepts the credential, and the identity.
func (g *gateway) authenticate(r inference, in variables) (by string, identity any) {
	GinkgoHelper()
	for _, name := range g.section("authentication") {
		authenticator := g.at("authentication", name).(map[string]any)
		if !g.wanted(authenticator, in) {
			continue
		}
		bearer, _ := r.headers["authorization"].(string)
		bearer, sent := strings.CutPrefix(bearer, "Bearer ")
		switch {
		case authenticator["plain"] != nil:
			header := strings.TrimPrefix(g.at("authentication", name, "plain", "selector").(string), "request.headers.")
			identity = r.headers[header]
		case authenticator["jwt"] != nil && sent && bearer != "":
			identity = r.claims
		case authenticator["kubernetesTokenReview"] != nil && sent && bearer != "":
			identity = r.review
		}
		if identity != nil {
			return name, identity
		}
	}
	return "", nil
}

// callbacks asks maas-api what the policy wants to know.
func (g *gateway) callbacks(r inference, in variables, a *answer) {
	GinkgoHelper()
	replies := map[string]func(map[string]any) any{"apiKeyValidation": r.validate, "subscription-info": r.selected}
	for _, name := range g.section("metadata") {
		callback := g.at("metadata", name).(map[string]any)
		if !g.wanted(callback, in) {
			continue
		}
		Expect(replies).To(HaveKey(name))
		body := g.value(g.expression("metadata", name, "http", "body"), in).(map[string]any)
		a.Asked[name] = body
		a.Cached[name] = g.value(g.expression("metadata", name, "cache", "key"), in)
		if reply := replies[name]; reply != nil {
			auth := in["auth"].(map[string]any)
			known, _ := auth["metadata"].(map[string]any)
			auth["metadata"] = with(known, name, reply(body))
		}
	}
}

// denials are the rules that refuse what is known of a request.
func (g *gateway) denials(in variables) []string {
	GinkgoHelper()
	var out []string
	for _, name := range g.section("authorization") {
		rule := g.at("authorization", name).(map[string]any)
		Expect(rule).NotTo(HaveKey("when"), "Authorino skips a rule whose condition fails")
		for _, pattern := range g.at("authorization", name, "patternMatching", "patterns").([]any) {
			if g.value(pattern.(map[string]any)["predicate"].(string), in) != true {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// serve decides a request.
func (g *gateway) serve(r inference) answer {
	GinkgoHelper()
	a := answer{Asked: map[string]any{}, Cached: map[string]any{}, Headers: map[string]any{}, Identity: map[string]any{}, Counted: map[string][]any{}}
	in := r.variables()
	if a.By, in["auth"].(map[string]any)["identity"] = g.authenticate(r, in); a.By == "" {
		a.Status = 401
		return a
	}
	g.callbacks(r, in, &a)
	if len(g.denials(in)) > 0 {
		a.Status, a.Message = 403, g.value(g.expression("response", "unauthorized", "body"), in)
		return a
	}
	a.Status = 200
	for name := range g.at("response", "success", "headers").(map[string]any) {
		a.Headers[name] = g.value(g.expression("response", "success", "headers", name, "plain"), in)
	}
	properties := g.at("response", "success", "filters", "identity", "json", "properties").(map[string]any)
	for name := range properties {
		a.Identity[name] = g.value(g.expression("response", "success", "filters", "identity", "json", "properties", name), in)
	}
	g.count(in, &a)
	return a
}

// count finds the limits that a request counts for; the gateway hands them the
// identity that the AuthPolicy made.
func (g *gateway) count(in variables, a *answer) {
	GinkgoHelper()
	seen := variables{"request": in["request"], "auth": map[string]any{"identity": a.Identity}}
	for _, l := range g.limits {
		if g.value(l.Predicate, seen) != true {
			continue
		}
		a.Counted[l.Name] = []any{}
		for _, counter := range l.Counters {
			a.Counted[l.Name] = append(a.Counted[l.Name], g.value(counter, seen))
		}
	}
}

// variables are what is known before anybody was asked.
func (r inference) variables() variables {
	path := cmp.Or(r.path, "/llm/granite/v1/chat/completions")
	bare, query, _ := strings.Cut(path, "?")
	request := map[string]any{"method": "POST", "path": path, "url_path": bare, "query": query}
	if r.headers != nil {
		request["headers"] = r.headers
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
