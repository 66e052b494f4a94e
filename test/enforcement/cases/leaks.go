// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// machinery are words of what decides, which are nobody's business.
var machinery = []string{
	"no such key", "no such overload", "no matching overload", "undeclared reference", "no such attribute", "ERROR:", "cel", "rego", "evaluator",
	"svc.cluster.local", "apiKeyValidation", "subscription-info", "goroutine", "panic", "connection refused", "x509",
}

// mayCarry are the headers in which the credential of a request goes on to where the
// request goes: maas-api asks models with it, and so the gateway does not take it away.
var mayCarry = map[string]bool{"Authorization": true, "X-Api-Key": true}

// passed are the headers that may reach a model: what a client sends, what the gateway
// adds, and what policies add.
var passed = map[string]bool{
	"Authorization": true, "X-Api-Key": true, "Content-Type": true, "Content-Length": true, "Connection": true, "Accept-Encoding": true,
	"User-Agent": true, "X-Request-Id": true, "X-Forwarded-For": true, "X-Forwarded-Proto": true, "X-Envoy-Original-Path": true,
	"X-Maas-Username": true, "X-Maas-Group": true, "X-Maas-Subscription": true,
}

// leaks finds what must never show, whatever the request is.
func leaks(r world.Request, a world.Answer) []Problem {
	var all problems
	for _, secret := range secrets(r) {
		all.leaked(secret, a)
	}
	if a.Decision != nil && a.Decision.Outcome == world.Denied {
		for _, word := range machinery {
			all.differ(fmt.Sprintf("refusal says %q", word), false, strings.Contains(a.Body+" "+a.Reason(), word))
		}
	}
	if a.Reached == nil {
		return all.found
	}
	for name, values := range a.Reached.Header {
		all.differ("header "+name+" reaches the model", false, !passed[name] && !sent(r, name))
		if strings.HasPrefix(name, "X-Maas-") {
			all.differ("values of header "+name+" at the model", 1, len(values))
		}
	}
	if a.Status == http.StatusOK {
		all.differ("the gateway decided", true, a.Decision != nil && a.Decision.Outcome == world.Passed)
	}
	return all.found
}

// leaked looks for a credential where it does not belong.
func (p *problems) leaked(secret string, a world.Answer) {
	p.differ("answer has the credential", false, strings.Contains(a.Body+text(a.Header), secret))
	if a.Decision != nil {
		p.differ("metadata has the credential", false, strings.Contains(text(a.Decision.Metadata()), secret))
	}
	if a.Reached != nil {
		for name, values := range a.Reached.Header {
			p.differ("header "+name+" has the credential", false, !mayCarry[name] && strings.Contains(strings.Join(values, ","), secret))
		}
	}
}

// sent tells whether the client sent a header itself, and it is none by which
// identities travel, however it is written.
func sent(r world.Request, name string) bool {
	if strings.HasPrefix(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "x-maas-") {
		return false
	}
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

// secrets are what the request proves who it is from by.
func secrets(r world.Request) []string {
	const least = 12 // Less is a word, not a secret.
	var found []string
	for _, h := range r.Headers {
		value := ""
		switch strings.ToLower(h.Name) {
		case "authorization":
			value = strings.TrimPrefix(h.Value, "Bearer ")
		case "x-api-key":
			value = h.Value
		}
		if len(value) >= least {
			found = append(found, value)
		}
	}
	return found
}

func text(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(out)
}
