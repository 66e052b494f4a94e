// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// validateBody is the body of the callback that checks an API key.
func validateBody() string { return "{\"key\": " + rawKey() + "}" }

// selectBody is the body of the callback that picks the subscription.
func (r request) selectBody() string {
	return fmt.Sprintf("{\"groups\": %s, \"username\": %s, \"requestedSubscription\": %s, \"requestedModel\": %s}",
		groups(), username(), requestedSubscription(), r.model)
}

// selectCacheKey determines selectBody: two requests share a reply only when
// they would have sent the same body. Each part has its length before it, so
// that the whole is unambiguous whatever the parts contain. The edition makes a
// reply end with the set of limits for which it was given.
func (r request) selectCacheKey() string {
	return fmt.Sprintf("[%s, %s.join(\",\"), %s].map(s, string(size(s)) + \":\" + s).join() + %s + \"@%s\"",
		username(), groups(), requestedSubscription(), r.model, r.edition)
}

// authorizationRules are the predicates that must all hold, sorted by name.
func (r request) authorizationRules(subjects, oidcClient string) []values.AuthorizationRule {
	rules := []values.AuthorizationRule{
		{Name: "auth-valid", Predicates: []string{
			vouchedFor,
			username() + " != \"\"",
		}},
		{Name: "deny-client-identity-headers", Predicates: []string{
			absentHeader("x-maas-username"),
			absentHeader("x-maas-group"),
		}},
	}
	if oidcClient != "" {
		rules = append(rules,
			values.AuthorizationRule{Name: "oidc-client-bound", Predicates: []string{ofClaims(boundTo(oidcClient))}},
			values.AuthorizationRule{Name: "oidc-username-safe", Predicates: []string{ofClaims(fmt.Sprintf("!%s.startsWith(%q)", claimedName(), entitlement.SystemPrefix))}},
		)
	}
	rules = append(rules, values.AuthorizationRule{Name: "require-group-membership", Predicates: []string{
		ofSelection("has(" + selected + ".accessAllowed) && " + selected + ".accessAllowed == true"),
	}})
	if subjects != "" {
		rules = append(rules, values.AuthorizationRule{Name: subjectRuleName, Predicates: []string{subjects}})
	}
	return append(rules, values.AuthorizationRule{Name: "subscription-valid", Predicates: []string{
		ofSelection(strings.Join([]string{
			filled(selected, "name"),
			silent(selected, "error"),
			"has(" + selected + ".phase) && " + selected + ".phase in [\"Active\", \"Degraded\"]",
			silent(selected, "deletionTimestamp"),
			"has(" + selected + ".resolvedModel) && " + selected + ".resolvedModel == " + r.model,
		}, " && ")),
	}})
}

// ofClaims holds when the caller's identity are no claims, or the predicate
// holds for them.
func ofClaims(predicate string) string {
	return "[" + identity + "].all(" + who + ", type(" + who + ") == string || !has(" + who + ".iss) || " + predicate + ")"
}

// ofSelection holds when the predicate holds for the selected subscription.
// Without a reply there is an empty one, for which no rule holds.
func ofSelection(predicate string) string {
	return "[" + selectReply + "].all(" + selected + ", " + predicate + ")"
}

// boundTo holds when a token was issued to the tenant's client: azp names it,
// or there is no azp and the audience does.
func boundTo(clientID string) string {
	return celtext.Cond("has("+who+".azp)", who+".azp == "+clientID,
		"has("+who+".aud) && "+celtext.Cond("type("+who+".aud) == list", clientID+" in "+who+".aud", who+".aud == "+clientID))
}

// subjectRule holds for the users and the members of the groups that the
// model's auth policies name.
func subjectRule(subjects subjectSet) (string, error) {
	users, err := celtext.List(subjects.Users)
	if err != nil {
		return "", fmt.Errorf("quote users: %w", err)
	}
	names, err := celtext.List(subjects.Groups)
	if err != nil {
		return "", fmt.Errorf("quote groups: %w", err)
	}
	return celtext.Or(username()+" in "+users, fmt.Sprintf("([%q] + %s).exists(g, g in %s)", entitlement.AuthenticatedGroup, memberships(), names)), nil
}

// identityProperties become auth.identity.* for rate limits and telemetry.
func (r request) identityProperties() []values.NamedExpression {
	scoped := celtext.Cond(filled(selected, "name")+" && "+filled(selected, "namespace"),
		selected+".namespace + \"/\" + "+selected+".name + \"@\" + "+r.model, "\"\"")
	return []values.NamedExpression{
		{Name: "groups", Expression: groups()},
		{Name: "groups_str", Expression: groups() + ".join(\",\")"},
		{Name: "keyId", Expression: keyText("keyId")},
		{Name: "keyName", Expression: keyText("keyName")},
		{Name: "selected_subscription", Expression: selectText("name")},
		{Name: "selected_subscription_id", Expression: selectText("subscriptionId")},
		{Name: "selected_subscription_key", Expression: celtext.Let(selected, selectReply, scoped)},
		{Name: "subject", Expression: subject()},
		{Name: "subscription_error", Expression: selectText("error")},
		{Name: "subscription_error_message", Expression: selectText("message")},
		{Name: "subscription_info", Expression: celtext.Let(selected, selectReply, celtext.Cond(filled(selected, "name"), selected, "{}"))},
		{Name: "userid", Expression: username()},
	}
}

// identityHeaders tell the model server who calls.
func identityHeaders() []values.NamedExpression {
	return []values.NamedExpression{
		{Name: "X-MaaS-Group", Expression: "\"[\\\"\" + " + groups() + ".join(\"\\\",\\\"\") + \"\\\"]\""},
		{Name: "X-MaaS-Subscription", Expression: selectText("name")},
		{Name: "X-MaaS-Username", Expression: username()},
	}
}

// denied is what an authenticated caller learns when the call may not pass.
func denied() values.DeniedReply {
	said := func(field, otherwise string) string {
		return celtext.Let(selected, selectReply, celtext.Cond(filled(selected, field), selected+"."+field, otherwise))
	}
	return values.DeniedReply{Message: said("message", "\"Access denied\""), Reason: said("error", "\"unauthorized\"")}
}
