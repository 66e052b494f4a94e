// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// validateBody is the body of the callback that checks an API key.
func (r request) validateBody() string { return "{\"key\": " + r.rawKey() + "}" }

// mayCall holds when it makes sense to ask for a subscription: the credential
// was not refused by the first callback.
func (r request) mayCall() string { return r.isToken() + " || (" + r.keyIsValid() + ")" }

// selectBody is the body of the callback that picks the subscription.
func (r request) selectBody() string {
	return fmt.Sprintf("{\"groups\": %s, \"username\": %s, \"requestedSubscription\": %s, \"requestedModel\": %s}",
		r.groups(), r.username(), r.requestedSubscription(), r.model)
}

// selectCacheKey determines selectBody: two requests share a reply only when
// they would have sent the same body.
func (r request) selectCacheKey() string {
	return segment(r.username()) + " + " + segment(r.groups()+".join(\",\")") + " + " +
		segment(r.requestedSubscription()) + " + " + r.model
}

// authorizationRules are the predicates that must all hold, sorted by name.
func (r request) authorizationRules(subjects, oidcClient string) []values.AuthorizationRule {
	rules := []values.AuthorizationRule{
		{Name: "auth-valid", Predicates: []string{
			r.isToken() + " || (" + r.keyIsValid() + ")",
			r.username() + " != \"\"",
		}},
		{Name: "deny-client-identity-headers", Predicates: []string{
			absentHeader("x-maas-username"),
			absentHeader("x-maas-group"),
		}},
	}
	if oidcClient != "" {
		rules = append(rules, values.AuthorizationRule{Name: "oidc-client-bound", Predicates: []string{
			"!(" + r.isOIDC() + ") || " + boundTo(oidcClient),
		}}, values.AuthorizationRule{Name: "oidc-username-safe", Predicates: []string{
			"!(" + r.isOIDC() + ") || !" + r.username() + ".startsWith(\"system:\")",
		}})
	}
	rules = append(rules, values.AuthorizationRule{Name: "require-group-membership", Predicates: []string{
		r.hasSelectReply() + " && has(" + selectReply + ".accessAllowed) && " + selectReply + ".accessAllowed == true",
	}})
	if subjects != "" {
		rules = append(rules, values.AuthorizationRule{Name: subjectRuleName, Predicates: []string{subjects}})
	}
	return append(rules, values.AuthorizationRule{Name: "subscription-valid", Predicates: []string{
		r.selectText("name") + " != \"\"",
		r.selectText("error") + " == \"\"",
		r.selectText("phase") + " in [\"Active\", \"Degraded\"]",
		r.selectText("deletionTimestamp") + " == \"\"",
		r.selectText("resolvedModel") + " == " + r.model,
	}})
}

// boundTo holds when a token was issued to the tenant's client: azp names it,
// or there is no azp and the audience does.
func boundTo(clientID string) string {
	azp := "has(auth.identity.azp)"
	aud := "has(auth.identity.aud) && (type(auth.identity.aud) == list ? " + clientID + " in auth.identity.aud : auth.identity.aud == " + clientID + ")"
	return "(" + azp + " ? auth.identity.azp == " + clientID + " : " + aud + ")"
}

// subjectRule holds for the users and the members of the groups that the
// model's auth policies name.
func (r request) subjectRule(subjects subjectSet) (string, error) {
	users, err := celtext.List(subjects.Users)
	if err != nil {
		return "", fmt.Errorf("quote users: %w", err)
	}
	groups, err := celtext.List(subjects.Groups)
	if err != nil {
		return "", fmt.Errorf("quote groups: %w", err)
	}
	return celtext.Or(r.username()+" in "+users, r.groups()+".exists(g, g in "+groups+")"), nil
}

// identityProperties become auth.identity.* for rate limits and telemetry.
func (r request) identityProperties() []values.NamedExpression {
	key := celtext.Cond(r.selectText("name")+" != \"\" && "+r.selectText("namespace")+" != \"\"",
		r.selectText("namespace")+" + \"/\" + "+r.selectText("name")+" + \"@\" + "+r.model, "\"\"")
	return []values.NamedExpression{
		{Name: "groups", Expression: r.groups()},
		{Name: "groups_str", Expression: r.groups() + ".join(\",\")"},
		{Name: "keyId", Expression: r.keyText("keyId")},
		{Name: "keyName", Expression: r.keyText("keyName")},
		{Name: "selected_subscription", Expression: r.selectText("name")},
		{Name: "selected_subscription_id", Expression: r.selectText("subscriptionId")},
		{Name: "selected_subscription_key", Expression: key},
		{Name: "subject", Expression: r.subject()},
		{Name: "subscription_error", Expression: r.selectText("error")},
		{Name: "subscription_error_message", Expression: r.selectText("message")},
		{Name: "subscription_info", Expression: celtext.Cond(r.selectText("name")+" != \"\"", selectReply, "{}")},
		{Name: "userid", Expression: r.username()},
	}
}

// identityHeaders tell the model server who calls.
func (r request) identityHeaders() []values.NamedExpression {
	return []values.NamedExpression{
		{Name: "X-MaaS-Group", Expression: "\"[\\\"\" + " + r.groups() + ".join(\"\\\",\\\"\") + \"\\\"]\""},
		{Name: "X-MaaS-Subscription", Expression: r.selectText("name")},
		{Name: "X-MaaS-Username", Expression: r.username()},
	}
}

// denied is what an authenticated caller learns when the call may not pass.
func (r request) denied() values.DeniedReply {
	return values.DeniedReply{
		Message: celtext.Cond(r.selectText("message")+" != \"\"", r.selectText("message"), "\"Access denied\""),
		Reason:  celtext.Cond(r.selectText("error")+" != \"\"", r.selectText("error"), "\"unauthorized\""),
	}
}
