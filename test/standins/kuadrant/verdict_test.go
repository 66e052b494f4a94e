// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kuadrant

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

var (
	theGateway = types.NamespacedName{Namespace: "ingress", Name: "gateway"}
	theRoute   = types.NamespacedName{Namespace: "llm", Name: "route"}
	otherRoute = types.NamespacedName{Namespace: "llm", Name: "other"}
)

// makePolicy builds a policy that was created some seconds after the first.
func makePolicy(kind Kind, name string, on target, age int, mutate ...func(*policy)) *policy {
	p := &policy{
		kind: kind, name: types.NamespacedName{Namespace: on.name.Namespace, Name: name}, target: on,
		created: time.Unix(int64(age), 0), ruleNames: []string{"tokens"},
	}
	for _, m := range mutate {
		m(p)
	}
	return p
}

func onRoute() target   { return target{kind: kindHTTPRoute, name: theRoute} }
func onGateway() target { return target{kind: kindGateway, name: theGateway} }

func withPredicate(d dialect, text string) func(*policy) {
	return func(p *policy) {
		p.expressions = []expression{{path: "spec.x", text: text, dialect: d, predicate: true}}
	}
}

func overrides(p *policy) { p.overrides = true }

// makeTopology puts policies around the two routes of one gateway.
func makeTopology(policies ...*policy) *topology {
	t := &topology{
		targetFound: true,
		paths:       []path{{theGateway, theRoute}},
		policies:    map[target][]*policy{},
	}
	for _, p := range policies {
		t.policies[p.target] = append(t.policies[p.target], p)
	}
	return t
}

func withBothRoutes(t *topology) *topology {
	t.paths = append(t.paths, path{theGateway, otherRoute})
	return t
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		missing = "Accepted=False TargetNotFound"
		good    = "Accepted=True Accepted, Enforced=True Enforced"
		bad     = "Accepted=True Accepted, Enforced=False "
	)
	auth := makePolicy(AuthPolicy, "auth", onRoute(), 1)
	tests := map[string]struct {
		policy   *policy
		topology func(*policy) *topology
		want     string
	}{
		"only policy on its route is enforced": {
			policy: auth, topology: func(p *policy) *topology { return makeTopology(p) }, want: good,
		},
		"missing target": {
			policy: auth, topology: func(*policy) *topology { return &topology{} }, want: missing,
		},
		"route that no gateway accepted": {
			policy:   auth,
			topology: func(*policy) *topology { return &topology{targetFound: true} },
			want:     bad + "Unknown",
		},
		"newer policy wins": {
			policy: makePolicy(AuthPolicy, "a-newer", onRoute(), 2),
			topology: func(p *policy) *topology {
				return makeTopology(p, auth)
			},
			want: good,
		},
		"older policy is overridden": {
			policy: auth,
			topology: func(p *policy) *topology {
				return makeTopology(makePolicy(AuthPolicy, "a-newer", onRoute(), 2), p)
			},
			want: bad + "Overridden",
		},
		"last name wins between equal ages": {
			policy: makePolicy(AuthPolicy, "b", onRoute(), 1),
			topology: func(p *policy) *topology {
				return makeTopology(p, makePolicy(AuthPolicy, "a", onRoute(), 1))
			},
			want: good,
		},
		"first name is overridden between equal ages": {
			policy: makePolicy(AuthPolicy, "a", onRoute(), 1),
			topology: func(p *policy) *topology {
				return makeTopology(p, makePolicy(AuthPolicy, "b", onRoute(), 1))
			},
			want: bad + "Overridden",
		},
		"newer policy of the gateway wins on a route without one": {
			policy: makePolicy(AuthPolicy, "default", onGateway(), 0),
			topology: func(p *policy) *topology {
				return makeTopology(p, makePolicy(AuthPolicy, "another", onGateway(), 1))
			},
			want: bad + "Overridden",
		},
		"policy of another kind does not compete": {
			policy: makePolicy(TokenRateLimitPolicy, "limits", onRoute(), 2),
			topology: func(p *policy) *topology {
				return makeTopology(p, auth)
			},
			want: good,
		},
		"gateway defaults lose to the route's policy": {
			policy: makePolicy(AuthPolicy, "default", onGateway(), 0),
			topology: func(p *policy) *topology {
				return makeTopology(p, auth)
			},
			want: bad + "Overridden",
		},
		"gateway defaults hold on the other route": {
			policy: makePolicy(AuthPolicy, "default", onGateway(), 0),
			topology: func(p *policy) *topology {
				return withBothRoutes(makeTopology(p, auth))
			},
			want: good,
		},
		"gateway limits overridden on one route are reported like the real operator does": {
			policy: makePolicy(TokenRateLimitPolicy, "deny", onGateway(), 0),
			topology: func(p *policy) *topology {
				return withBothRoutes(makeTopology(p, makePolicy(TokenRateLimitPolicy, "limits", onRoute(), 1)))
			},
			want: bad + "Unknown",
		},
		"gateway overrides win over the route's policy": {
			policy: auth,
			topology: func(p *policy) *topology {
				return makeTopology(p, makePolicy(AuthPolicy, "forced", onGateway(), 5, overrides))
			},
			want: bad + "Overridden",
		},
		"older gateway overrides win over newer ones": {
			policy: makePolicy(AuthPolicy, "forced", onGateway(), 5, overrides),
			topology: func(p *policy) *topology {
				return makeTopology(auth, p, makePolicy(AuthPolicy, "later", onGateway(), 6, overrides))
			},
			want: good,
		},
		"overrides on a route win over a newer policy there": {
			policy: makePolicy(AuthPolicy, "forced", onRoute(), 1, overrides),
			topology: func(p *policy) *topology {
				return makeTopology(p, makePolicy(AuthPolicy, "newer", onRoute(), 2), makePolicy(AuthPolicy, "default", onGateway(), 3))
			},
			want: good,
		},
		"bad predicate for the gateway": {
			policy:   makePolicy(AuthPolicy, "auth", onRoute(), 1, withPredicate(dialectGatewayAuth, "request.path ==")),
			topology: func(p *policy) *topology { return makeTopology(p) },
			want:     bad + "InvalidCelExpression",
		},
		"bad predicate for Authorino leaves the AuthConfig out of sync": {
			policy:   makePolicy(AuthPolicy, "auth", onRoute(), 1, withPredicate(dialectAuthorino, "nonsense(")),
			topology: func(p *policy) *topology { return makeTopology(p) },
			want:     bad + "Unknown",
		},
		"limits may use the identity behind an auth policy": {
			policy: makePolicy(TokenRateLimitPolicy, "limits", onRoute(), 1, withPredicate(dialectGatewayLimit, "auth.identity.a == 'b'")),
			topology: func(p *policy) *topology {
				return makeTopology(p, auth)
			},
			want: good,
		},
		"limits may use the identity behind the gateway's auth policy": {
			policy: makePolicy(TokenRateLimitPolicy, "limits", onRoute(), 1, withPredicate(dialectGatewayLimit, "auth.identity.a == 'b'")),
			topology: func(p *policy) *topology {
				return makeTopology(p, makePolicy(AuthPolicy, "default", onGateway(), 1))
			},
			want: good,
		},
		"limits know no identity without any auth policy": {
			policy:   makePolicy(TokenRateLimitPolicy, "limits", onRoute(), 1, withPredicate(dialectGatewayLimit, "auth.identity.a == 'b'")),
			topology: func(p *policy) *topology { return makeTopology(p) },
			want:     bad + "InvalidCelExpression",
		},
	}
	c, err := newChecker()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := c.judge(tc.policy, tc.topology(tc.policy))
			if got := summary(v); got != tc.want {
				t.Errorf("verdict = %q, want %q (%+v)", got, tc.want, v)
			}
		})
	}
}

func summary(v verdict) string {
	short := func(c metav1.Condition) string { return c.Type + "=" + string(c.Status) + " " + c.Reason }
	if v.enforced == nil {
		return short(v.accepted)
	}
	return short(v.accepted) + ", " + short(*v.enforced)
}

func TestVerdictAppliedTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	c, err := newChecker()
	if err != nil {
		t.Fatal(err)
	}
	p := makePolicy(AuthPolicy, "auth", onRoute(), 1)
	v := c.judge(p, makeTopology(p))
	var conditions []metav1.Condition
	if !v.applyTo(&conditions) {
		t.Error("first application reports no change")
	}
	before := append([]metav1.Condition(nil), conditions...)
	if v.applyTo(&conditions) {
		t.Error("second application reports a change")
	}
	if diff := cmp.Diff(before, conditions); diff != "" {
		t.Errorf("conditions (-before +after):\n%s", diff)
	}
}

func TestVerdictWithoutEnforcedRemovesTheCondition(t *testing.T) {
	t.Parallel()
	conditions := []metav1.Condition{status.Condition(ConditionEnforced, true, ReasonEnforced, "")}
	v := verdict{accepted: status.Condition(ConditionAccepted, false, ReasonTargetNotFound, "gone")}
	if !v.applyTo(&conditions) {
		t.Error("no change reported")
	}
	if len(conditions) != 1 || conditions[0].Type != ConditionAccepted {
		t.Errorf("conditions = %+v, want only Accepted", conditions)
	}
}
