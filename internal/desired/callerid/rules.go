// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callerid

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// Rules are the predicates about a caller that must hold in every policy, sorted
// by name. The provider is the tenant's; nil when there is none.
func Rules(provider *tenancy.OIDC) ([]values.AuthorizationRule, error) {
	rules := []values.AuthorizationRule{
		{Name: "auth-valid", Predicates: []string{
			VouchedFor,
			Username() + " != \"\"",
		}},
		{Name: "deny-client-identity-headers", Predicates: []string{
			absentHeader(identityHeader),
			absentHeader(misspeltSubscription),
		}},
	}
	if provider != nil {
		ofProvider, err := providerRules(*provider)
		if err != nil {
			return nil, err
		}
		rules = append(rules, ofProvider...)
	}
	return append(rules, values.AuthorizationRule{Name: "username-header-safe", Predicates: []string{headerSafeName()}}), nil
}

// providerRules hold for the tokens of the tenant's provider. The policy engine
// verifies the signature and the times of a token, but neither its issuer nor its
// audience, and issuers may share their keys.
func providerRules(provider tenancy.OIDC) ([]values.AuthorizationRule, error) {
	client, err := celtext.String(provider.ClientID)
	if err != nil {
		return nil, fmt.Errorf("quote OIDC client id: %w", err)
	}
	issuer, err := celtext.String(provider.IssuerURL)
	if err != nil {
		return nil, fmt.Errorf("quote OIDC issuer: %w", err)
	}
	return []values.AuthorizationRule{
		{Name: "oidc-client-bound", Predicates: []string{ofClaims(boundTo(client))}},
		{Name: "oidc-issuer-bound", Predicates: []string{ofClaims(who + ".iss == " + issuer)}},
		{Name: "oidc-username-safe", Predicates: []string{ofClaims(fmt.Sprintf("!%s.startsWith(%q)", claimedName(), entitlement.SystemPrefix))}},
	}, nil
}

// ofClaims holds when the caller's identity are no claims, or the predicate
// holds for them.
func ofClaims(predicate string) string {
	return "[" + identity + "].all(" + who + ", type(" + who + ") == string || !has(" + who + ".iss) || " + predicate + ")"
}

// boundTo holds when a token was issued to the tenant's client: azp names it,
// or there is no azp and the audience does.
func boundTo(clientID string) string {
	return celtext.Cond("has("+who+".azp)", who+".azp == "+clientID,
		"has("+who+".aud) && "+celtext.Cond("type("+who+".aud) == list", clientID+" in "+who+".aud", who+".aud == "+clientID))
}

// unsafeName matches a name that HTTP cannot carry as it is: a client or server on
// the way takes white space off the ends of a header and stumbles over control
// characters, so that "bob " would arrive as bob.
const unsafeName = `^\\p{Z}|\\p{Z}$|\\p{Cc}`

// headerSafeName holds when the caller's name arrives in a header as it is.
func headerSafeName() string { return "!" + Username() + ".matches(\"" + unsafeName + "\")" }

// KeySubscription holds when a caller with a key that is bound to no subscription
// asks for none: there is nothing to replace such a header by.
func KeySubscription() string {
	return "!(" + IsKey + ") || " + KeyText("subscription") + " != \"\" || " + header(headerSubscription) + " == \"\""
}
