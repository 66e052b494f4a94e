// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callerid

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

// What the pipeline knows, each with a value that says nothing for when it does
// not exist. While no callback has answered there is no auth.metadata at all.
// The templates use the same key of the reply.
const (
	identity = `has(auth.identity) ? auth.identity : ""`
	keyReply = "has(auth.metadata) && has(auth.metadata.apiKeyValidation) ? auth.metadata.apiKeyValidation : {}"
)

// Variables of the expressions.
const (
	who = "i" // the identity
	key = "k" // the reply about the API key
)

const (
	// IsKey holds when an API key was presented, valid or not.
	IsKey = "has(auth.identity) && type(auth.identity) == string"
	// VouchedFor holds when somebody vouches for the caller: the provider that issued a
	// token, the cluster by its group of everybody it knows, or maas-api for an API key,
	// in so many words. A TokenReview alone means nothing: where requests without a
	// credential have a user, the cluster calls a token that is none that user's.
	VouchedFor = "(has(auth.identity) && type(auth.identity) != string && (has(auth.identity.iss) || " +
		"(has(auth.identity.user) && has(auth.identity.user.groups) && type(auth.identity.user.groups) == list && \"" + entitlement.AuthenticatedGroup + "\" in auth.identity.user.groups))) || " +
		"(has(auth.metadata) && has(auth.metadata.apiKeyValidation) && has(auth.metadata.apiKeyValidation.valid) && auth.metadata.apiKeyValidation.valid == true)"
)

// Nobody holds in limits when Authorino has let a request through without saying whose
// it is, as it does (0.25) when its time for the request is over: it passes over the
// rules that it has not come to. Every AuthPolicy of ours says who a caller is.
//
// In the gateway's filter what an expression names is there, as null if nothing is
// known of it; in other evaluators it may be missing. auth.identity as a whole must
// not be named in any expression of the same policy: it would hide what is in it.
const Nobody = `!("identity" in auth) || auth.identity.userid == null`

// Named holds when somebody vouches for the caller, by a name.
func Named() string { return "(" + VouchedFor + ") && " + Username() + " != \"\"" }

// KeyText reads a text from the reply about the API key.
func KeyText(field string) string { return celtext.Let(key, keyReply, Text(key, field)) }

// byIdentity yields one of three values: for an API key, for the claims of the
// tenant's provider, and for a TokenReview.
func byIdentity(ofKey, ofClaims, ofReview string) string {
	return celtext.Let(who, identity, "type("+who+") == string ? "+ofKey+" : has("+who+".iss) ? "+ofClaims+" : "+ofReview)
}

// ofUser guards a value made of the user of a TokenReview.
func ofUser(value, otherwise string) string {
	return celtext.Cond("has("+who+".user)", value, otherwise)
}

// RawKey is the bare API key.
func RawKey() string {
	return celtext.Let(who, identity, fmt.Sprintf("type(%[1]s) != string ? \"\" : %[1]s.startsWith(%[2]q) ? %[1]s.substring(%[3]d) : %[1]s", who, bearer, len(bearer)))
}

// Validate is the callback that checks an API key at the maas-api of the given
// address.
func Validate(api string, cacheTTLSeconds int64) values.Callback {
	return values.Callback{
		URL: api + "/internal/v1/api-keys/validate", When: IsKey, Body: "{\"key\": " + RawKey() + "}",
		CacheKey: RawKey(), CacheTTLSeconds: cacheTTLSeconds,
	}
}

// claimedName is the name in a provider's claims.
func claimedName() string {
	return celtext.Cond(Filled(who, "preferred_username"), who+".preferred_username", Text(who, "sub"))
}

// Username is the name that owns keys and counts tokens.
func Username() string {
	return byIdentity(KeyText("username"), claimedName(), ofUser(Text(who+".user", "username"), "\"\""))
}

// subject is the stable identifier behind the username: it survives a rename.
func subject() string {
	return byIdentity(KeyText("userId"), Text(who, "sub"), ofUser(Text(who+".user", "uid"), "\"\""))
}

// Memberships are the groups others say the caller is a member of; not the
// system: groups an external provider claims.
func Memberships() string {
	return byIdentity(celtext.Let(key, keyReply, list(key, "groups")),
		fmt.Sprintf("%s.filter(g, type(g) == string && !g.startsWith(%q))", list(who, "groups"), entitlement.SystemPrefix),
		ofUser(list(who+".user", "groups"), "[]"))
}

// Groups is the one list that feeds the group header and the selection; a rule
// about subjects looks for safe names in what it is made of. Groups outside the
// safe character set are dropped.
func Groups() string {
	return fmt.Sprintf("([%q] + %s.filter(g, type(g) == string && g != %q && g.matches(%q)))",
		entitlement.AuthenticatedGroup, Memberships(), entitlement.AuthenticatedGroup, entitlement.SafeGroupPattern)
}

// RequestedSubscription is the key's own subscription, or what a token caller
// asks for. A header beside an API key is ignored.
func RequestedSubscription() string {
	return celtext.Cond(IsKey, KeyText("subscription"), header(headerSubscription))
}

// groupHeader is the list of groups as a JSON array.
func groupHeader() string {
	return "\"[\\\"\" + " + Groups() + ".join(\"\\\",\\\"\") + \"\\\"]\""
}

// Properties are what a policy exposes of the caller as auth.identity, sorted by
// name.
func Properties() []values.NamedExpression {
	return []values.NamedExpression{
		{Name: "groups", Expression: Groups()},
		{Name: "groups_str", Expression: Groups() + ".join(\",\")"},
		{Name: "keyId", Expression: KeyText("keyId")},
		{Name: "keyName", Expression: KeyText("keyName")},
		{Name: "subject", Expression: subject()},
		{Name: "userid", Expression: Username()},
	}
}
