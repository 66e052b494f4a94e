// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kuadrant is the stand-in for kuadrant-operator in suites that run
// without the real one. It owns the status of AuthPolicies and
// TokenRateLimitPolicies, and its own entry in that of routes, and nothing else: it creates no AuthConfigs, limits
// or gateway filters, and it enforces nothing.
//
// What it keeps from the real operator:
//
//   - every CEL predicate and expression is parsed and checked in an
//     environment shaped like the one that would evaluate it. The `auth`
//     variable is known to a TokenRateLimitPolicy only while an AuthPolicy
//     reaches the same route.
//   - a bad predicate for the gateway is Enforced=False InvalidCelExpression;
//     a bad one in an AuthPolicy's rules is Enforced=False Unknown, because the
//     real operator then waits for an AuthConfig that never becomes ready.
//   - an unknown target is Accepted=False TargetNotFound, and the Enforced
//     condition disappears; a target without an accepted route is
//     Enforced=False Unknown.
//   - of several policies of a kind on one target the newest wins, of those of
//     one second the last by namespace/name; a policy that wins nowhere is
//     Enforced=False Overridden. Route policies win over gateway defaults.
//     Overrides win over both, wherever they are: first those of the gateway, and
//     of several on one target the oldest. Only the atomic merge strategy is known
//     and section names are ignored.
//   - the status of a route says for which generation of it an AuthPolicy on it was
//     judged, after the status of that policy.
//   - status.observedGeneration is written; conditions carry none, exactly as
//     with the real operator.
//   - status follows a change after a lag, see [Options.Lag].
//
// A test can have it lose a status, as the real operator does now and then, by
// [Kuadrant.Lose].
//
// A test can hold the stand-in back: [Kuadrant.Stall] and [Kuadrant.Resume] for
// everything, [AnnotationStall] on one policy, [Options.StallFile] from outside
// the process.
package kuadrant
