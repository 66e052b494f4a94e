// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestExpressionsOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kind Kind
		spec string
		want []expression
	}{
		"auth policy": {
			kind: AuthPolicy,
			spec: `
when: [{predicate: a}]
patterns: {p: {allOf: [{predicate: b}]}}
rules:
  authentication:
    keys: {plain: {expression: c}, when: [{predicate: d}, {selector: request.path, operator: eq, value: "no cel"}]}
  metadata:
    m:
      http: {urlExpression: e, body: {expression: f}}
      cache: {key: {expression: g}}
  authorization:
    z: {patternMatching: {patterns: [{predicate: h}]}}
    o: {opa: {rego: "no cel"}}
  response:
    unauthorized: {body: {value: {expression: no cel}}}
    success:
      filters: {identity: {json: {properties: {expression: {expression: i}}}}}
`,
			want: []expression{
				{path: "spec.when[0].predicate", text: "a", dialect: dialectGatewayAuth, predicate: true},
				{path: "spec.patterns.p.allOf[0].predicate", text: "b", dialect: dialectAuthorino, predicate: true},
				{path: "spec.rules.authentication.keys.plain.expression", text: "c", dialect: dialectAuthorino},
				{path: "spec.rules.authentication.keys.when[0].predicate", text: "d", dialect: dialectAuthorino, predicate: true},
				{path: "spec.rules.authorization.z.patternMatching.patterns[0].predicate", text: "h", dialect: dialectAuthorino, predicate: true},
				{path: "spec.rules.metadata.m.cache.key.expression", text: "g", dialect: dialectAuthorino},
				{path: "spec.rules.metadata.m.http.body.expression", text: "f", dialect: dialectAuthorino},
				{path: "spec.rules.metadata.m.http.urlExpression", text: "e", dialect: dialectAuthorino},
				{
					path: "spec.rules.response.success.filters.identity.json.properties.expression.expression",
					text: "i", dialect: dialectAuthorino,
				},
			},
		},
		"auth policy with explicit defaults": {
			kind: AuthPolicy,
			spec: `defaults: {when: [{predicate: a}], rules: {authorization: {x: {patternMatching: {patterns: [{predicate: b}]}}}}}`,
			want: []expression{
				{path: "spec.defaults.when[0].predicate", text: "a", dialect: dialectGatewayAuth, predicate: true},
				{
					path: "spec.defaults.rules.authorization.x.patternMatching.patterns[0].predicate",
					text: "b", dialect: dialectAuthorino, predicate: true,
				},
			},
		},
		"token rate limit policy": {
			kind: TokenRateLimitPolicy,
			spec: `
when: [{predicate: a}]
limits:
  z: {rates: [{limit: 1, window: 1m}], when: [{predicate: c}]}
  b: {when: [{predicate: d}], counters: [{expression: e}]}
`,
			want: []expression{
				{path: "spec.when[0].predicate", text: "a", dialect: dialectGatewayLimit, predicate: true},
				{path: "spec.limits.b.when[0].predicate", text: "d", dialect: dialectGatewayLimit, predicate: true},
				{path: "spec.limits.b.counters[0].expression", text: "e", dialect: dialectGatewayLimit},
				{path: "spec.limits.z.when[0].predicate", text: "c", dialect: dialectGatewayLimit, predicate: true},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, expressionsOf(tc.kind, spec), cmp.AllowUnexported(expression{})); diff != "" {
				t.Errorf("expressions (-want +got):\n%s", diff)
			}
		})
	}
}
