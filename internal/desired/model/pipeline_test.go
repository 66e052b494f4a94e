// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// serve takes a request through the policy: authenticators by priority, then
// the callbacks by priority, then the rules, then the reply.
func (a *authorino) serve(w world) verdict {
	a.t.Helper()
	c := a.prepared(call{headers: w.sent()})
	if c.identity = a.authenticate(w, c); c.identity == nil {
		return verdict{status: 401}
	}
	c = a.prepared(c)
	v := verdict{status: 403}
	c, v.validateBody = a.ask(c, "apiKeyValidation", w.validate)
	c, v.selectBody = a.ask(c, "subscription-info", w.selected)
	if len(a.denials(c)) > 0 {
		v.message, v.reason = a.maybe(c, "body"), a.maybe(c, "message")
		return v
	}
	v.status, v.headers, v.identity = 200, map[string]any{}, a.properties(c)
	headers, _, err := unstructured.NestedMap(a.policy.Object, "spec", "rules", "response", "success", "headers")
	if err != nil {
		a.t.Fatalf("read headers: %v", err)
	}
	for name := range headers {
		v.headers[name] = a.text(c, "response", "success", "headers", name, "plain", "expression")
	}
	return v
}

// steps are what the expressions of the policy can see while it is served.
func (a *authorino) steps(w world) []call {
	a.t.Helper()
	c := a.prepared(call{headers: w.sent()})
	out := []call{c}
	if c.identity = a.authenticate(w, c); c.identity == nil {
		return out
	}
	c = a.prepared(c)
	out = append(out, c)
	c, _ = a.ask(c, "apiKeyValidation", w.validate)
	out = append(out, c)
	c, _ = a.ask(c, "subscription-info", w.selected)
	return append(out, c)
}

func (w world) sent() map[string]any {
	headers := map[string]any{}
	maps.Copy(headers, w.headers)
	if w.authorization != "" {
		headers["authorization"] = w.authorization
	}
	if w.xAPIKey != "" {
		headers["x-api-key"] = w.xAPIKey
	}
	if len(headers) == 0 {
		return nil
	}
	return headers
}

// authenticate returns the identity of the first authenticator that accepts
// the request. At no priority may two of them.
func (a *authorino) authenticate(w world, c call) any {
	a.t.Helper()
	accepted := map[int64][]any{}
	for name, rule := range a.rules("authentication") {
		rule := rule.(map[string]any)
		if identity := a.identify(name, rule, w, c); identity != nil {
			priority := rule["priority"].(int64)
			accepted[priority] = append(accepted[priority], identity)
		}
	}
	for priority := range int64(3) {
		if len(accepted[priority]) > 1 {
			a.t.Fatalf("%+v: several authenticators of priority %d accept: %v", w, priority, accepted[priority])
		}
		if len(accepted[priority]) == 1 {
			return accepted[priority][0]
		}
	}
	return nil
}

// identify is what one authenticator makes of the request, nil when it does not
// concern it or is not valid.
func (a *authorino) identify(name string, rule map[string]any, w world, c call) any {
	a.t.Helper()
	condition := rule["when"].([]any)[0].(map[string]any)
	if predicate, ok := condition["predicate"].(string); ok {
		if a.must(predicate, c) != true {
			return nil
		}
	} else if !strings.HasPrefix(w.authorization, "Bearer sk-oai-") { // A pattern on a selector, fixed in the template.
		return nil
	}
	token, _ := strings.CutPrefix(w.authorization, "Bearer ")
	switch name {
	case "api-keys":
		return w.authorization
	case "api-keys-x-api-key":
		return w.xAPIKey
	case "oidc-identities":
		if token == oidcToken {
			return w.claims
		}
	case "openshift-identities":
		if slices.Contains([]string{serviceToken, opaque}, token) {
			return w.status
		}
	default:
		a.t.Fatalf("unknown authenticator %s", name)
	}
	return nil
}

// ask makes a callback when the policy wants it, and returns what it sent.
func (a *authorino) ask(c call, name string, reply any) (call, any) {
	a.t.Helper()
	when, _, err := unstructured.NestedSlice(a.policy.Object, "spec", "rules", "metadata", name, "when")
	if err != nil {
		a.t.Fatalf("read callback %s: %v", name, err)
	}
	// A condition that fails skips the callback, as one that does not hold.
	if wanted, err := a.eval(when[0].(map[string]any)["predicate"].(string), c); err != nil || wanted != true {
		return c, nil
	}
	body, err := a.eval(a.expression("metadata", name, "http", "body", "expression"), c)
	if err != nil || reply == nil {
		return c, body
	}
	metadata := map[string]any{name: reply}
	maps.Copy(metadata, c.metadata)
	c.metadata = metadata
	return a.prepared(c), body
}

// maybe evaluates a text of the refusal, which a reply of the wrong shape can
// make fail.
func (a *authorino) maybe(c call, part string) string {
	value, err := a.eval(a.expression("response", "unauthorized", part, "expression"), c)
	if err != nil {
		return ""
	}
	text, _ := value.(string)
	return text
}
