// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callerid

import "fmt"

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
	headerUsername      = "x-maas-username"
	headerGroup         = "x-maas-group"
	headerSubscription  = "x-maas-subscription"
)

// Credentials tells credentials apart by the headers they stand in.
type Credentials struct {
	// AcceptKeyHeader allows API keys in x-api-key.
	AcceptKeyHeader bool
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

// HeaderKey holds when the x-api-key header carries the key of the request;
// Authorization wins when both do.
func HeaderKey() string {
	return headerStartsWith(headerAPIKey, keyPrefix) + " && !" + headerStartsWith(headerAuthorization, bearer+keyPrefix)
}

// SendsToken holds when no header in which keys are accepted carries one.
func (c Credentials) SendsToken() string {
	token := "!" + headerStartsWith(headerAuthorization, bearer+keyPrefix)
	if c.AcceptKeyHeader {
		token += " && !" + headerStartsWith(headerAPIKey, keyPrefix)
	}
	return token
}

// SendsJWT holds for a bearer token of three dot-separated segments.
func (c Credentials) SendsJWT() string {
	return c.SendsToken() + " && " + header(headerAuthorization) + ".matches(\"^Bearer [^. ]+[.][^. ]+[.][^. ]+$\")"
}
