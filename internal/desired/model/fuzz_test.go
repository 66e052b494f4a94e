// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/render/rendertest"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

func FuzzAuthPolicyTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), authRequest(), identityFields, authKeys)
}

func FuzzTokenRateLimitPolicyTemplate(f *testing.F) {
	rendertest.Fuzz(f, parts.Engine(f), limitsRequest(f), identityFields, limitKeys)
}

// texts are what people and the cluster write into the policies of a model.
type texts struct {
	user, group, authPolicy, subscription, route, tenant, audience, issuer, client string
}

func (x texts) all() []string {
	return []string{x.user, x.group, x.authPolicy, x.subscription, x.route, x.tenant, x.audience, x.issuer, x.client}
}

// input is a model with everything switched on.
func (x texts) input() model.Input {
	in := guarded()
	in.Route, in.Settings.Audience = x.route, x.audience
	in.Tenant.Name, in.Tenant.ID = x.tenant, x.tenant
	in.Tenant.OIDC.IssuerURL, in.Tenant.OIDC.ClientID = x.issuer, x.client
	named := legacy(x.subscription, rate(100, "1m"))
	in.AuthPolicies = []model.AuthPolicy{authPolicy(x.authPolicy, []string{x.user, "alice"}, x.group, "engineers")}
	in.Subscriptions = []model.Subscription{named, short(x.subscription, rate(100, "1m")), legacy("silver", rate(7, "24h"))}
	in.AuthPolicies[0].Tenant = x.tenant
	for i := range in.Subscriptions {
		in.Subscriptions[i].Tenant = x.tenant
	}
	return in
}

func (x texts) objects(e *render.Engine) ([]*unstructured.Unstructured, error) {
	out, err := model.Build(x.input())
	if err != nil {
		return nil, err
	}
	return e.RenderAll(out.Requests())
}

// maxFuzzed keeps texts below the bounds at which subjects and members are
// left out, which changes the structure on purpose.
const maxFuzzed = 4 << 10

// FuzzPolicies builds and renders the policies of a model for arbitrary names:
// they keep their identity and structure, their CEL keeps its syntax tree but
// for text constants, and what must arrive does.
func FuzzPolicies(f *testing.F) {
	e, parser := parts.Engine(f), newCELParser(f)
	benign, err := texts{"bob", "testers", "team", "gold", "route", "red", "audience", issuer, oidcID}.objects(e)
	if err != nil {
		f.Fatal(err)
	}
	hostile := rendertest.Texts()
	for i := range hostile {
		text := func(field int) string { return hostile[(i+field)%len(hostile)] }
		f.Add(text(0), text(0), text(0), text(0), text(0), text(0), text(0), text(0), text(0))
		f.Add(text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7), text(8))
	}
	f.Fuzz(func(t *testing.T, user, group, authPolicy, subscription, route, tenant, audience, issuer, client string) {
		x := texts{user, group, authPolicy, subscription, route, tenant, audience, issuer, client}
		valid := !slices.ContainsFunc(x.all(), func(text string) bool { return !utf8.ValidString(text) })
		if slices.ContainsFunc(x.all(), func(text string) bool { return len(text) > maxFuzzed }) {
			return
		}
		objects, err := x.objects(e)
		if err != nil && valid {
			t.Fatalf("texts %q are refused: %v", x.all(), err)
		}
		if err != nil {
			return
		}
		if len(objects) != len(benign) {
			t.Fatalf("texts %q give %d objects, want %d", x.all(), len(objects), len(benign))
		}
		arrived := map[string]bool{"": true}
		for i := range objects {
			if err := rendertest.SameStructure(benign[i], objects[i]); err != nil {
				t.Fatalf("texts %q: %s: %v", x.all(), objects[i].GetKind(), err)
			}
			parser.compare(t, objects[i].GetKind(), benign[i].Object, objects[i].Object, arrived)
		}
		for _, text := range []string{user, tenantNamespace + "/" + subscription + "@" + reference, route, audience, issuer, client} {
			if !arrived[text] {
				t.Errorf("texts %q: %q stands nowhere in the policies", x.all(), text)
			}
		}
	})
}

// celParser compares expressions.
type celParser struct {
	env *cel.Env
	// benign are the syntax trees of the expressions compared with, by text.
	benign map[string][]string
}

func newCELParser(f *testing.F) *celParser {
	f.Helper()
	env, err := cel.NewEnv(cel.OptionalTypes())
	if err != nil {
		f.Fatalf("make environment: %v", err)
	}
	return &celParser{env: env, benign: map[string][]string{}}
}

// compare looks at two trees of the same structure: where expressions differ,
// their syntax trees do so in text constants only. It gathers these and all
// other texts.
func (p *celParser) compare(t *testing.T, path string, benign, hostile any, arrived map[string]bool) {
	t.Helper()
	switch node := hostile.(type) {
	case map[string]any:
		for key, value := range node {
			below, original := path+"."+key, benign.(map[string]any)[key]
			if text, isText := value.(string); isText && (key == "predicate" || key == "expression") {
				p.compareExpressions(t, below, original.(string), text, arrived)
			} else {
				p.compare(t, below, original, value, arrived)
			}
		}
	case []any:
		for i, value := range node {
			p.compare(t, fmt.Sprintf("%s[%d]", path, i), benign.([]any)[i], value, arrived)
		}
	case string:
		arrived[node] = true
	}
}

func (p *celParser) compareExpressions(t *testing.T, path, benign, hostile string, arrived map[string]bool) {
	t.Helper()
	if hostile == benign {
		return
	}
	want, known := p.benign[benign]
	if !known {
		want, _ = p.syntax(t, benign)
		p.benign[benign] = want
	}
	got, constants := p.syntax(t, hostile)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: the syntax tree of %q differs (-want +got):\n%s", path, hostile, diff)
	}
	for _, constant := range constants {
		arrived[constant] = true
	}
}

// syntax parses an expression and lists its nodes in order; text constants
// apart, of which a list may have any number.
func (p *celParser) syntax(t *testing.T, expression string) (nodes, constants []string) {
	t.Helper()
	parsed, issues := p.env.Parse(expression)
	if issues.Err() != nil {
		t.Fatalf("parse %q: %v", expression, issues.Err())
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.LiteralKind:
			if text, ok := e.AsLiteral().Value().(string); ok {
				constants = append(constants, text)
				return
			}
			nodes = append(nodes, fmt.Sprint("constant ", e.AsLiteral().Value()))
		case ast.CallKind:
			nodes = append(nodes, fmt.Sprintf("call %s/%d", e.AsCall().FunctionName(), len(e.AsCall().Args())))
		case ast.SelectKind:
			nodes = append(nodes, fmt.Sprintf("select %s %t", e.AsSelect().FieldName(), e.AsSelect().IsTestOnly()))
		case ast.IdentKind:
			nodes = append(nodes, "name "+e.AsIdent())
		default:
			nodes = append(nodes, fmt.Sprint("kind ", int(e.Kind())))
		}
	}))
	return nodes, constants
}
