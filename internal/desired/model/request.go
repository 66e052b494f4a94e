// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

const (
	// keyPrefix starts every API key.
	keyPrefix = "sk-oai-"
	// bearer stands before a credential in the Authorization header.
	bearer = "Bearer "
)

// What the pipeline knows, each with a value that says nothing for when it does
// not exist. While no callback has answered there is no auth.metadata at all.
// The templates use the same keys of replies.
const (
	identity    = `has(auth.identity) ? auth.identity : ""`
	keyReply    = "has(auth.metadata) && has(auth.metadata.apiKeyValidation) ? auth.metadata.apiKeyValidation : {}"
	selectReply = `has(auth.metadata) && "subscription-info" in auth.metadata ? auth.metadata["subscription-info"] : {}`
)

// Variables of the expressions.
const (
	who      = "i" // the identity
	key      = "k" // the reply about the API key
	selected = "s" // the reply with the subscription
)

// request writes the CEL expressions that read one inference request. A
// missing, null or oddly typed optional field yields an empty value, never an
// error: Authorino skips an evaluator whose condition is an error. Where a
// whole reply is of the wrong shape the rules are errors, and so deny.
//
// Until the caller is authenticated the expressions look at headers. From then
// on they look at the identity: that of an API key is the header it stands in,
// a string, and only the two key authenticators yield strings; that of a token
// is an object: claims, which have an issuer, or the status of a TokenReview,
// which has none. So what follows from the kind of credential follows from the
// authenticator that accepted it.
type request struct {
	// acceptKeyHeader allows API keys in x-api-key.
	acceptKeyHeader bool
	// model is the CEL literal of <namespace>/<name> of the MaaSModelRef.
	model string
	// edition names the set of subscriptions that have a limit: hexadecimal digits.
	edition string
}

func header(name string) string {
	return fmt.Sprintf("(has(request.headers) && %q in request.headers ? request.headers[%q] : \"\")", name, name)
}

func absentHeader(name string) string {
	return fmt.Sprintf("!has(request.headers) || !(%q in request.headers)", name)
}

func headerStartsWith(name, prefix string) string {
	return fmt.Sprintf("%s.startsWith(%q)", header(name), prefix)
}

// headerKey holds when the x-api-key header carries the key of the request;
// Authorization wins when both do.
func headerKey() string {
	return headerStartsWith("x-api-key", keyPrefix) + " && !" + headerStartsWith("authorization", bearer+keyPrefix)
}

// sendsToken holds when no header the model accepts keys in carries one.
func (r request) sendsToken() string {
	token := "!" + headerStartsWith("authorization", bearer+keyPrefix)
	if r.acceptKeyHeader {
		token += " && !" + headerStartsWith("x-api-key", keyPrefix)
	}
	return token
}

// sendsJWT holds for a bearer token of three dot-separated segments.
func (r request) sendsJWT() string {
	return r.sendsToken() + " && " + header("authorization") + ".matches(\"^Bearer [^. ]+[.][^. ]+[.][^. ]+$\")"
}

// is tells whether a field of the object is there with the type.
func is(object, field, kind string) string {
	path := object + "." + field
	return "has(" + path + ") && type(" + path + ") == " + kind
}

// filled tells whether a field of the object is a text that is not empty.
func filled(object, field string) string {
	return is(object, field, "string") + " && " + object + "." + field + " != \"\""
}

// silent tells whether an optional field of a reply says nothing.
func silent(object, field string) string {
	path := object + "." + field
	return "(!has(" + path + ") || " + path + " in [\"\", null])"
}

// text reads an optional text.
func text(object, field string) string {
	return celtext.Cond(is(object, field, "string"), object+"."+field, "\"\"")
}

// list reads an optional list.
func list(object, field string) string {
	return celtext.Cond(is(object, field, "list"), object+"."+field, "[]")
}

func keyText(field string) string { return celtext.Let(key, keyReply, text(key, field)) }

func selectText(field string) string {
	return celtext.Let(selected, selectReply, text(selected, field))
}

// byIdentity yields one of three values: for an API key, for the claims of the
// tenant's provider, and for a TokenReview.
func byIdentity(ofKey, ofClaims, ofReview string) string {
	return celtext.Let(who, identity, "type("+who+") == string ? "+ofKey+" : has("+who+".iss) ? "+ofClaims+" : "+ofReview)
}

// ofUser guards a value made of the user of a TokenReview.
func ofUser(value, otherwise string) string {
	return celtext.Cond("has("+who+".user)", value, otherwise)
}

// rawKey is the bare API key.
func rawKey() string {
	return celtext.Let(who, identity, fmt.Sprintf("type(%[1]s) != string ? \"\" : %[1]s.startsWith(%[2]q) ? %[1]s.substring(%[3]d) : %[1]s", who, bearer, len(bearer)))
}

// isKey holds when an API key was presented, valid or not.
const isKey = "has(auth.identity) && type(auth.identity) == string"

// vouchedFor holds when somebody vouches for the caller: the issuer of a token,
// or maas-api for an API key, in so many words.
const vouchedFor = "(has(auth.identity) && type(auth.identity) != string) || " +
	"(has(auth.metadata) && has(auth.metadata.apiKeyValidation) && has(auth.metadata.apiKeyValidation.valid) && auth.metadata.apiKeyValidation.valid == true)"

// claimedName is the name in a provider's claims.
func claimedName() string {
	return celtext.Cond(filled(who, "preferred_username"), who+".preferred_username", text(who, "sub"))
}

// username is the name that owns keys and counts tokens.
func username() string {
	return byIdentity(keyText("username"), claimedName(), ofUser(text(who+".user", "username"), "\"\""))
}

// subject is the stable identifier behind the username: it survives a rename.
func subject() string {
	return byIdentity(keyText("userId"), text(who, "sub"), ofUser(text(who+".user", "uid"), "\"\""))
}

// memberships are the groups others say the caller is a member of; not the
// system: groups an external provider claims.
func memberships() string {
	return byIdentity(celtext.Let(key, keyReply, list(key, "groups")),
		fmt.Sprintf("%s.filter(g, type(g) == string && !g.startsWith(%q))", list(who, "groups"), entitlement.SystemPrefix),
		ofUser(list(who+".user", "groups"), "[]"))
}

// groups is the one list that feeds the group header and the selection; the
// subjects rule looks for safe names in what it is made of. Groups outside the
// safe character set are dropped.
func groups() string {
	return fmt.Sprintf("([%q] + %s.filter(g, type(g) == string && g != %q && g.matches(%q)))",
		entitlement.AuthenticatedGroup, memberships(), entitlement.AuthenticatedGroup, entitlement.SafeGroupPattern)
}

// requestedSubscription is the key's own subscription, or what a token caller
// asks for. A header beside an API key is ignored.
func requestedSubscription() string {
	return celtext.Cond(isKey, keyText("subscription"), header("x-maas-subscription"))
}
