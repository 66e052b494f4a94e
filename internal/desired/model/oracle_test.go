// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// world is one request and what everybody the gateway asks would answer.
type world struct {
	authorization, xAPIKey string // Empty: the header is not sent.
	headers                map[string]any
	// claims are those of the JWT oidcToken, status is what a TokenReview says
	// of the other tokens that are valid.
	claims, status map[string]any
	// validate and selected are maas-api's replies; nil when it does not answer.
	validate, selected any
}

// switches are what can be turned on and off in a policy.
type switches struct{ keyHeader, oidc bool }

// caller is who a request comes from.
type caller struct {
	kind              string // key, claims, review, or empty for nobody.
	username, subject string
	groups            []any
	requested         string
	valid             bool // maas-api or the issuer vouches for the caller.
}

// verdict is what has to become of a request.
type verdict struct {
	status                     int
	validateBody, selectBody   any // Nil when the callback is not made.
	message, reason            string
	headers, identity          map[string]any
	wrongShape, credentialless bool
}

// The oracle below reads a request the way a person would, without a thought
// for CEL. It shares nothing with the code under test but the table's values.

func field(object any, name string) string {
	m, _ := object.(map[string]any)
	text, _ := m[name].(string)
	return text
}

func items(object any, name string) []any {
	m, _ := object.(map[string]any)
	list, _ := m[name].([]any)
	return list
}

var safe = regexp.MustCompile(`^[A-Za-z0-9:._/-]+$`)

// memberships are the groups that count: everybody known is authenticated.
func memberships(claimed []any, external bool) []any {
	out := []any{"system:authenticated"}
	for _, item := range claimed {
		group, ok := item.(string)
		if ok && group != "system:authenticated" && safe.MatchString(group) && (!external || !strings.HasPrefix(group, "system:")) {
			out = append(out, group)
		}
	}
	return out
}

func (w world) apiKey(s switches) string {
	if key, ok := strings.CutPrefix(w.authorization, "Bearer "); ok && strings.HasPrefix(key, "sk-oai-") {
		return key
	}
	if s.keyHeader && strings.HasPrefix(w.xAPIKey, "sk-oai-") {
		return w.xAPIKey
	}
	return ""
}

func (w world) caller(s switches) caller {
	asked, _ := w.headers["x-maas-subscription"].(string)
	switch reply, _ := w.validate.(map[string]any); {
	case w.apiKey(s) != "":
		return caller{
			kind: "key", username: field(reply, "username"), subject: field(reply, "userId"),
			groups: memberships(items(reply, "groups"), false), requested: field(reply, "subscription"), valid: reply["valid"] == true,
		}
	case s.oidc && w.authorization == "Bearer "+oidcToken:
		name := field(w.claims, "preferred_username")
		if name == "" {
			name = field(w.claims, "sub")
		}
		return caller{kind: "claims", username: name, subject: field(w.claims, "sub"), groups: memberships(items(w.claims, "groups"), true), requested: asked, valid: true}
	case w.authorization == "Bearer "+serviceToken, w.authorization == "Bearer "+opaque:
		user := w.status["user"]
		return caller{kind: "review", username: field(user, "username"), subject: field(user, "uid"), groups: memberships(items(user, "groups"), false), requested: asked, valid: slices.Contains(items(user, "groups"), any("system:authenticated"))}
	default:
		return caller{}
	}
}

// bound tells whether a provider's token was issued for the tenant's client.
func bound(claims map[string]any) bool {
	if azp, there := claims["azp"]; there {
		return azp == oidcID
	}
	return claims["aud"] == oidcID || slices.Contains(items(claims, "aud"), any(oidcID))
}

// nothing tells whether an optional field of a reply says nothing.
func nothing(reply map[string]any, name string) bool {
	return reply[name] == nil || reply[name] == ""
}

// mayPass is the whole of the authorization.
func (w world) mayPass(c caller, users, groups []string) bool {
	reply, _ := w.selected.(map[string]any)
	_, namesItself := w.headers["x-maas-username"]
	_, namesItsGroups := w.headers["x-maas-group"]
	_, misspells := w.headers["x-maas_subscription"]
	switch {
	case !c.valid || c.username == "", namesItself, namesItsGroups, misspells:
		return false
	case c.username != strings.TrimSpace(c.username) || strings.ContainsFunc(c.username, unicode.IsControl):
		return false
	case c.kind == "claims" && (w.claims["iss"] != issuer || !bound(w.claims) || strings.HasPrefix(c.username, "system:")):
		return false
	case field(reply, "name") == "", !nothing(reply, "error"), !nothing(reply, "deletionTimestamp"):
		return false
	case field(reply, "phase") != "Active" && field(reply, "phase") != "Degraded":
		return false
	case reply["accessAllowed"] != true, reply["resolvedModel"] != reference:
		return false
	}
	return slices.Contains(users, c.username) || slices.ContainsFunc(c.groups, func(g any) bool { return slices.Contains(groups, g.(string)) })
}

// judge says what has to become of the request.
func (w world) judge(s switches, users, groups []string) verdict {
	c := w.caller(s)
	if c.kind == "" {
		return verdict{status: 401, credentialless: true}
	}
	v := verdict{status: 403, message: "Access denied", reason: "unauthorized", credentialless: !c.valid}
	_, validShape := w.validate.(map[string]any)
	_, selectShape := w.selected.(map[string]any)
	if c.kind == "key" {
		v.validateBody = map[string]any{"key": w.apiKey(s)}
		v.wrongShape = w.validate != nil && !validShape
	}
	asked := w
	if c.valid && c.username != "" {
		v.selectBody = map[string]any{"groups": c.groups, "username": c.username, "requestedSubscription": c.requested, "requestedModel": reference}
		v.wrongShape = v.wrongShape || w.selected != nil && !selectShape
	} else {
		asked.selected = nil
	}
	if text := field(asked.selected, "message"); text != "" {
		v.message = text
	}
	if text := field(asked.selected, "error"); text != "" {
		v.reason = text
	}
	if asked.mayPass(c, users, groups) {
		v.status = 200
		v.headers, v.identity = asked.handedOn(c)
	}
	return v
}

// handedOn is what the model server and the rate limits learn of the caller.
func (w world) handedOn(c caller) (headers, identity map[string]any) {
	names := make([]string, 0, len(c.groups))
	for _, group := range c.groups {
		names = append(names, group.(string))
	}
	key := ""
	if field(w.selected, "namespace") != "" {
		key = field(w.selected, "namespace") + "/" + field(w.selected, "name") + "@" + reference
	}
	validate := w.validate
	if c.kind != "key" {
		validate = nil
	}
	headers = map[string]any{
		"x-maas-username": c.username, "x-maas-subscription": field(w.selected, "name"),
		"x-maas-group": `["` + strings.Join(names, `","`) + `"]`,
	}
	return headers, map[string]any{
		"groups": c.groups, "groups_str": strings.Join(names, ","), "userid": c.username, "subject": c.subject,
		"keyId": field(validate, "keyId"), "keyName": field(validate, "keyName"),
		"selected_subscription": field(w.selected, "name"), "selected_subscription_id": field(w.selected, "subscriptionId"),
		"selected_subscription_key": key, "subscription_info": w.selected,
		"subscription_error": field(w.selected, "error"), "subscription_error_message": field(w.selected, "message"),
	}
}
