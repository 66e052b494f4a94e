// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/desired/callerid"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// selectBody is the body of the callback that picks the subscription.
func (r request) selectBody() string {
	return fmt.Sprintf("{\"groups\": %s, \"username\": %s, \"requestedSubscription\": %s, \"requestedModel\": %s}",
		callerid.Groups(), callerid.Username(), callerid.RequestedSubscription(), r.model)
}

// selectCacheKey determines selectBody: two requests share a reply only when
// they would have sent the same body. Each part has its length before it, so
// that the whole is unambiguous whatever the parts contain. The edition makes a
// reply end with the set of limits for which it was given.
func (r request) selectCacheKey() string {
	return fmt.Sprintf("[%s, %s.join(\",\"), %s].map(s, string(size(s)) + \":\" + s).join() + %s + \"@%s\"",
		callerid.Username(), callerid.Groups(), callerid.RequestedSubscription(), r.model, r.edition)
}

// authorizationRules are the predicates that must all hold, sorted by name.
func (r request) authorizationRules(subjects string, provider *tenancy.OIDC) ([]values.AuthorizationRule, error) {
	rules, err := callerid.Rules(provider)
	if err != nil {
		return nil, err
	}
	rules = append(rules, values.AuthorizationRule{Name: "require-group-membership", Predicates: []string{
		ofSelection("has(" + selected + ".accessAllowed) && " + selected + ".accessAllowed == true"),
	}}, values.AuthorizationRule{Name: "subscription-valid", Predicates: []string{
		ofSelection(strings.Join([]string{
			callerid.Filled(selected, "name"),
			silent(selected, "error"),
			"has(" + selected + ".phase) && " + selected + ".phase in [\"Active\", \"Degraded\"]",
			silent(selected, "deletionTimestamp"),
			"has(" + selected + ".resolvedModel) && " + selected + ".resolvedModel == " + r.model,
		}, " && ")),
	}})
	if subjects != "" {
		rules = append(rules, values.AuthorizationRule{Name: subjectRuleName, Predicates: []string{subjects}})
	}
	slices.SortFunc(rules, func(a, b values.AuthorizationRule) int { return strings.Compare(a.Name, b.Name) })
	return rules, nil
}

// ofSelection holds when the predicate holds for the selected subscription.
// Without a reply there is an empty one, for which no rule holds.
func ofSelection(predicate string) string {
	return "[" + selectReply + "].all(" + selected + ", " + predicate + ")"
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
	return celtext.Or(callerid.Username()+" in "+users, fmt.Sprintf("([%q] + %s).exists(g, g in %s)", entitlement.AuthenticatedGroup, callerid.Memberships(), names)), nil
}

// identityProperties become auth.identity.* for rate limits and telemetry.
func (r request) identityProperties() []values.NamedExpression {
	scoped := celtext.Cond(callerid.Filled(selected, "name")+" && "+callerid.Filled(selected, "namespace"),
		selected+".namespace + \"/\" + "+selected+".name + \"@\" + "+r.model, "\"\"")
	properties := append(callerid.Properties(),
		values.NamedExpression{Name: "selected_subscription", Expression: selectText("name")},
		values.NamedExpression{Name: "selected_subscription_id", Expression: selectText("subscriptionId")},
		values.NamedExpression{Name: "selected_subscription_key", Expression: celtext.Let(selected, selectReply, scoped)},
		values.NamedExpression{Name: "subscription_error", Expression: selectText("error")},
		values.NamedExpression{Name: "subscription_error_message", Expression: selectText("message")},
		values.NamedExpression{Name: "subscription_info", Expression: celtext.Let(selected, selectReply, celtext.Cond(callerid.Filled(selected, "name"), selected, "{}"))},
	)
	slices.SortFunc(properties, func(a, b values.NamedExpression) int { return strings.Compare(a.Name, b.Name) })
	return properties
}

// denied is what an authenticated caller learns when the call may not pass.
func denied() values.DeniedReply {
	said := func(field, otherwise string) string {
		return celtext.Let(selected, selectReply, celtext.Cond(callerid.Filled(selected, field), selected+"."+field, otherwise))
	}
	return values.DeniedReply{Message: said("message", "\"Access denied\""), Reason: said("error", "\"unauthorized\"")}
}
