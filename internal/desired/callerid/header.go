// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callerid

import (
	"fmt"

	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	// keyPrefix starts every API key.
	keyPrefix = "sk-oai-"
	// bearer stands before a credential in the Authorization header.
	bearer = "Bearer "
)

// The headers, as the gateway spells them.
const (
	headerAuthorization = "authorization"
	headerAPIKey        = "x-api-key"
	headerSubscription  = "x-maas-subscription"
)

// Patterns of header names that no client may send, with what many servers take for
// the same name: an underscore instead of a hyphen.
const (
	identityHeader       = `(?i)^x[-_]maas[-_](username|group)$`
	misspeltSubscription = `(?i)^x(_maas[-_]|-maas_)subscription$`
)

// SubscriptionHeader is the header by which a gateway tells whose quota a request uses.
const SubscriptionHeader = headerSubscription

// Headers are those that tell who calls, sorted by name. The names are in lower
// case: the gateway's filter compares them letter by letter with what HTTP/2 carries,
// and would send another spelling beside the client's header instead of replacing it.
func Headers(subscription string) []values.NamedExpression {
	return []values.NamedExpression{
		{Name: "x-maas-group", Expression: groupHeader()},
		{Name: headerSubscription, Expression: subscription},
		{Name: "x-maas-username", Expression: Username()},
	}
}

// Credentials tells credentials apart by the headers they stand in.
type Credentials struct {
	// AcceptKeyHeader allows API keys in x-api-key.
	AcceptKeyHeader bool
}

func header(name string) string {
	return fmt.Sprintf("(has(request.headers) && %q in request.headers ? request.headers[%q] : \"\")", name, name)
}

func absentHeader(pattern string) string {
	return fmt.Sprintf("!has(request.headers) || !request.headers.exists(h, h.matches(%q))", pattern)
}

func headerStartsWith(name, prefix string) string {
	return fmt.Sprintf("%s.startsWith(%q)", header(name), prefix)
}

// Blanked are the headers in which credentials are accepted, with nothing in them: they
// take the place of the client's, and whoever comes behind the gateway learns none. A
// header cannot be taken away. What adds a credential of its own behind the policies
// replaces them in turn. They are sorted by name.
func (c Credentials) Blanked() []values.NamedExpression {
	headers := []values.NamedExpression{{Name: headerAuthorization, Expression: `""`}}
	if c.AcceptKeyHeader {
		headers = append(headers, values.NamedExpression{Name: headerAPIKey, Expression: `""`})
	}
	return headers
}

// HeaderKey holds when the x-api-key header carries the key of the request;
// Authorization wins when both do.
func HeaderKey() string {
	return headerStartsWith(headerAPIKey, keyPrefix) + " && !" + headerStartsWith(headerAuthorization, bearer+keyPrefix)
}

// SendsToken holds for a bearer token, when no header in which keys are accepted
// carries a key. A token is one word: the cluster that is asked cuts the header into
// words at spaces, and takes what begins with one for no credential at all. What else
// it may take for none is for [VouchedFor].
func (c Credentials) SendsToken() string {
	token := header(headerAuthorization) + ".matches(\"^Bearer [^ ]+$\") && !" + headerStartsWith(headerAuthorization, bearer+keyPrefix)
	if c.AcceptKeyHeader {
		token += " && !" + headerStartsWith(headerAPIKey, keyPrefix)
	}
	return token
}

// SendsJWT holds for a bearer token of three dot-separated segments.
func (c Credentials) SendsJWT() string {
	return c.SendsToken() + " && " + header(headerAuthorization) + ".matches(\"^Bearer [^. ]+[.][^. ]+[.][^. ]+$\")"
}
