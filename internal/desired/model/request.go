// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/internal/celtext"
)

// Names of the callbacks' replies under auth.metadata. The templates use the
// same keys.
const (
	keyReply    = "auth.metadata.apiKeyValidation"
	selectReply = "auth.metadata[\"subscription-info\"]"
)

const (
	// keyPrefix starts every API key.
	keyPrefix = "sk-oai-"
	// authenticatedGroup is the group of every caller whose identity is known.
	authenticatedGroup = "system:authenticated"
	// safeGroup is the pattern of group names that are passed on. It has no
	// comma and no quote, so that joined names stay unambiguous.
	safeGroup = "^[A-Za-z0-9:._/-]+$"
)

// request writes the CEL expressions that read one inference request. A
// missing, null or oddly typed optional field yields an empty value, never an
// error: Authorino skips an evaluator whose condition is an error. Where a
// whole reply is of the wrong shape the rules are errors, and so deny.
type request struct {
	// acceptKeyHeader allows API keys in x-api-key.
	acceptKeyHeader bool
	// model is the CEL literal of <namespace>/<name> of the MaaSModelRef.
	model string
}

func header(name string) string {
	return fmt.Sprintf("(has(request.headers) && %q in request.headers ? request.headers[%q] : \"\")", name, name)
}

func absentHeader(name string) string {
	return fmt.Sprintf("!has(request.headers) || !(%q in request.headers)", name)
}

// text reads an optional string field; guard holds when its object exists.
func text(guard, object, field string) string {
	path := object + "." + field
	return celtext.Cond(guarded(guard, path)+" && type("+path+") == string", path, "\"\"")
}

// list reads an optional list field; guard holds when its object exists.
func list(guard, object, field string) string {
	path := object + "." + field
	return celtext.Cond(guarded(guard, path)+" && type("+path+") == list", path, "[]")
}

func guarded(guard, path string) string {
	if guard == "" {
		return "has(" + path + ")"
	}
	return guard + " && has(" + path + ")"
}

func (request) bearerKey() string {
	return header("authorization") + ".startsWith(\"Bearer " + keyPrefix + "\")"
}

// headerKey holds when the x-api-key header carries the key of the request;
// Authorization wins when both do.
func (r request) headerKey() string {
	return header("x-api-key") + ".startsWith(\"" + keyPrefix + "\") && !" + r.bearerKey()
}

// isKey holds when the request carries an API key.
func (r request) isKey() string {
	if !r.acceptKeyHeader {
		return r.bearerKey()
	}
	return "(" + r.bearerKey() + " || " + header("x-api-key") + ".startsWith(\"" + keyPrefix + "\"))"
}

func (r request) isToken() string { return "!" + r.isKey() }

// looksLikeJWT holds for a bearer token of three dot-separated segments.
func (r request) looksLikeJWT() string {
	return r.isToken() + " && " + header("authorization") + ".matches(\"^Bearer [^. ]+[.][^. ]+[.][^. ]+$\")"
}

// rawKey is the bare API key.
func (r request) rawKey() string {
	bearer := header("authorization") + ".substring(7)"
	if !r.acceptKeyHeader {
		return celtext.Cond(r.bearerKey(), bearer, "\"\"")
	}
	return celtext.Cond(r.bearerKey(), bearer, header("x-api-key"))
}

// hasKeyReply and hasSelectReply hold once the callback has answered: while
// nothing has, auth.metadata does not exist at all.
func (request) hasKeyReply() string { return "has(auth.metadata) && has(" + keyReply + ")" }

func (request) hasSelectReply() string {
	return "has(auth.metadata) && \"subscription-info\" in auth.metadata"
}

// keyIsValid holds when maas-api said so, in so many words.
func (r request) keyIsValid() string {
	return r.hasKeyReply() + " && has(" + keyReply + ".valid) && " + keyReply + ".valid == true"
}

func (r request) keyText(field string) string { return text(r.hasKeyReply(), keyReply, field) }

func (r request) selectText(field string) string { return text(r.hasSelectReply(), selectReply, field) }

// isOIDC holds for a JWT identity: claims have an issuer, the status of a
// TokenReview has none, and the identity of an API key is a string.
func (request) isOIDC() string {
	return "has(auth.identity) && type(auth.identity) == map && has(auth.identity.iss)"
}

// reviewed guards the user of a TokenReview; it is for use where isOIDC does
// not hold and the request carries no API key.
func (request) reviewed() string { return "has(auth.identity) && has(auth.identity.user)" }

// username is the name that owns keys and counts tokens.
func (r request) username() string {
	preferred := text("", "auth.identity", "preferred_username")
	oidc := celtext.Cond(preferred+" != \"\"", preferred, text("", "auth.identity", "sub"))
	token := celtext.Cond(r.isOIDC(), oidc, text(r.reviewed(), "auth.identity.user", "username"))
	return celtext.Cond(r.isKey(), r.keyText("username"), token)
}

// subject is the stable identifier behind the username: it survives a rename.
func (r request) subject() string {
	token := celtext.Cond(r.isOIDC(), text("", "auth.identity", "sub"), text(r.reviewed(), "auth.identity.user", "uid"))
	return celtext.Cond(r.isKey(), r.keyText("userId"), token)
}

// groups is the one list that feeds the group header, the selection and the
// subjects rule. Groups outside the safe character set are dropped, and so are
// system: groups an external provider claims.
func (r request) groups() string {
	token := celtext.Cond(r.isOIDC(),
		list("", "auth.identity", "groups")+".filter(g, type(g) == string && !g.startsWith(\"system:\"))",
		list(r.reviewed(), "auth.identity.user", "groups"))
	raw := celtext.Cond(r.isKey(), list(r.hasKeyReply(), keyReply, "groups"), token)
	return fmt.Sprintf("([%q] + %s.filter(g, type(g) == string && g != %q && g.matches(%q)))",
		authenticatedGroup, raw, authenticatedGroup, safeGroup)
}

// requestedSubscription is the key's own subscription, or what a token caller
// asks for. A header beside an API key is ignored.
func (r request) requestedSubscription() string {
	return celtext.Cond(r.isKey(), r.keyText("subscription"), header("x-maas-subscription"))
}

// segment encodes a string so that concatenated segments are unambiguous
// whatever they contain: its length stands before it.
func segment(expression string) string {
	return "string(size(" + expression + ")) + \":\" + " + expression
}
