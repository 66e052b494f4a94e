// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// The headers that carry who is calling.
const (
	// HeaderUsername and HeaderGroup are set by the gateway, never by clients.
	HeaderUsername = "X-Maas-Username"
	HeaderGroup    = "X-Maas-Group"
	// HeaderSubscription is set by the gateway for callers with an API key, and
	// may be set by other clients.
	HeaderSubscription = "X-Maas-Subscription"
	// HeaderAPIKey is the other place where a gateway may accept an API key.
	HeaderAPIKey = "X-Api-Key" //nolint:gosec // The name of a header, not its content.

	headerAuthorization = "Authorization"

	keyPrefix = "sk-oai-"

	// blanks are the white space of HTTP and JSON.
	blanks = " \t\r\n"
)

var errGroups = errors.New("the list of groups is neither a JSON array of strings nor words in brackets")

// Identity is who the gateway says is calling. The tenant is no part of it: it
// is the one this process serves.
type Identity struct {
	// Username is never blank.
	Username string
	// Groups are as the gateway passed them, in order, without blank ones. The
	// list may be empty.
	Groups []string
}

// Strict is a handler for callers with an identity. Any fault in the identity
// headers is answered by [WriteAuthFailure].
func Strict(h func(http.ResponseWriter, *http.Request, Identity)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, ref := identityOf(r)
		if ref != "" {
			WriteAuthFailure(w, ref)
			return
		}
		h(w, r, identity)
	})
}

// Optional is a handler that also serves requests without any identity header:
// it is then given nil. One header without the other is a fault as in [Strict].
func Optional(h func(http.ResponseWriter, *http.Request, *Identity)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !present(r, HeaderUsername) && !present(r, HeaderGroup) {
			h(w, r, nil)
			return
		}
		identity, ref := identityOf(r)
		if ref != "" {
			WriteAuthFailure(w, ref)
			return
		}
		h(w, r, &identity)
	})
}

// identityOf returns the identity, or the reference of the fault. A header that
// comes twice is a fault too: nothing tells which of the two the gateway wrote.
func identityOf(r *http.Request) (Identity, string) {
	name, ok := usernameOf(r)
	if !ok {
		return Identity{}, RefUsername
	}
	lists := r.Header[HeaderGroup]
	if !present(r, HeaderGroup) {
		return Identity{}, RefGroups
	}
	if len(lists) != 1 {
		return Identity{}, RefGroupsSyntax
	}
	groups, err := ParseGroups(lists[0])
	if err != nil {
		return Identity{}, RefGroupsSyntax
	}
	return Identity{Username: name, Groups: groups}, ""
}

// usernameOf returns the one name without the white space that HTTP allows around
// it. Other white space at its ends is part of the name, and without it the name
// would be somebody else's: such a name is refused.
func usernameOf(r *http.Request) (string, bool) {
	names := r.Header[HeaderUsername]
	if len(names) != 1 || !utf8.ValidString(names[0]) {
		return "", false
	}
	name := strings.Trim(names[0], blanks)
	return name, name != "" && name == strings.TrimSpace(name)
}

func present(r *http.Request, name string) bool {
	for _, value := range r.Header[name] {
		if strings.TrimSpace(value) != "" {
			return true
		}
	}
	return false
}

// ParseGroups reads the value of [HeaderGroup]: a JSON array of strings, or words
// in brackets ("[a b c]"). Elements are trimmed and blank ones dropped; the list
// may be empty, because the owner of a key may have had no group. White space
// outside ASCII belongs to a name: without it, the name would be another group's.
// The error has a constant text: it does not repeat the value.
func ParseGroups(header string) ([]string, error) {
	text := strings.TrimSpace(header)
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' || !utf8.ValidString(text) {
		return nil, errGroups
	}
	var groups []string
	if json.Unmarshal([]byte(text), &groups) != nil {
		inside := text[1 : len(text)-1]
		if strings.ContainsAny(inside, `"[]{},`) {
			return nil, errGroups
		}
		groups = strings.FieldsFunc(inside, func(r rune) bool { return strings.ContainsRune(blanks, r) })
	}
	kept := make([]string, 0, len(groups))
	for _, group := range groups {
		if group = strings.Trim(group, blanks); group != "" {
			kept = append(kept, group)
		}
	}
	return kept, nil
}

// KeyCaller tells whether the credential of a request is an API key, see [APIKey].
func KeyCaller(r *http.Request) bool { return APIKey(r) != "" }

// APIKey returns the text of the API key that a request comes with, in
// Authorization or in [HeaderAPIKey]; "" means that there is none. One key among
// several credentials is enough: such a caller gets what the key may do and no
// more.
func APIKey(r *http.Request) string {
	for _, value := range r.Header[headerAuthorization] {
		scheme, credential, found := strings.Cut(strings.TrimSpace(value), " ")
		if credential = strings.TrimSpace(credential); found && strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(credential, keyPrefix) {
			return credential
		}
	}
	for _, value := range r.Header[HeaderAPIKey] {
		if value = strings.TrimSpace(value); strings.HasPrefix(value, keyPrefix) {
			return value
		}
	}
	return ""
}

// Subscription returns the last value of [HeaderSubscription] that is not blank,
// trimmed: what the gateway adds comes after what the client sent. "" means that
// there is none.
func Subscription(r *http.Request) string {
	values := r.Header[HeaderSubscription]
	for _, value := range slices.Backward(values) {
		if value = strings.TrimSpace(value); value != "" {
			return value
		}
	}
	return ""
}
