// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// The headers by which identities travel.
const (
	headerUsername     = "X-MaaS-Username"
	headerGroup        = "X-MaaS-Group"
	headerSubscription = "X-MaaS-Subscription"
	headerKey          = "X-API-Key"
)

// question is what clients ask a model.
const question = `{"model":"any","messages":[{"role":"user","content":"ping"}]}`

// chat asks a model.
func (s *Side) chat(m world.Model, headers ...world.Header) world.Request {
	return world.Request{Tenant: s.Tenant, Path: m.Path() + "/v1/chat/completions", Headers: headers, Body: question}
}

// get asks for a path.
func (s *Side) get(path string, headers ...world.Header) world.Request {
	return world.Request{Tenant: s.Tenant, Path: path, Headers: headers}
}

// ask makes requests that need nothing but what the side has.
func ask(f func(*Side) world.Request) func(context.Context, *Side) (world.Request, error) {
	return func(_ context.Context, s *Side) (world.Request, error) { return f(s), nil }
}

// always is a verdict that is the same for both tenants.
func always(v Verdict) func(*Side) Verdict { return func(*Side) Verdict { return v } }

// unauthenticated is the answer to who proves nothing.
func unauthenticated() func(*Side) Verdict {
	return always(Verdict{Status: http.StatusUnauthorized, Reason: "Authentication required", Challenged: true})
}

// keptOut is a refusal, whether the credential is taken for one or not.
func keptOut() func(*Side) Verdict {
	return always(Verdict{Status: anyStatus, Further: func(a world.Answer) error {
		if a.Reached != nil || a.Status != http.StatusUnauthorized && a.Status != http.StatusForbidden {
			return fmt.Errorf("%s", a)
		}
		return nil
	}})
}

// denied is the answer to who is known and may not, and to an API key that is none.
func denied() func(*Side) Verdict { return refused("unauthorized", "Access denied") }

// refused is the answer to who may not, with the reason that maas-api gives.
func refused(reason, message string) func(*Side) Verdict {
	return always(Verdict{Status: http.StatusForbidden, Reason: reason, Body: message, Type: "text/plain"})
}

// noRoute is the answer where nothing is.
func noRoute() func(*Side) Verdict { return always(Verdict{Status: http.StatusNotFound}) }

// caller is somebody as models, limits and telemetry must see them.
type caller struct {
	name, subject string
	groups        []string
	// key is the API key that was used, if any.
	key *service.CreatedKey
}

func (c caller) all() []string { return append([]string{everybody}, c.groups...) }

// groupHeader is the list of groups as a header has it.
func (c caller) groupHeader() string { return `["` + strings.Join(c.all(), `","`) + `"]` }

// properties are what is known of the caller whatever is asked for.
func (c caller) properties() map[string]any {
	known := map[string]any{
		"groups": c.all(), "groups_str": strings.Join(c.all(), ","), "keyId": "", "keyName": "", "subject": c.subject, "userid": c.name,
	}
	if c.subject == "" {
		known["subject"] = anything{}
	}
	if c.key != nil {
		known["keyId"], known["keyName"] = c.key.ID, c.key.Name
	}
	return known
}

// as are the callers of a tenant.
func (s *Side) olga() caller {
	return caller{name: olga, subject: "subject-of-" + olga, groups: []string{staff}}
}

func (s *Side) otto() caller { return caller{name: otto, subject: "subject-of-" + otto} }

func (s *Side) gina() caller {
	return caller{name: gina, subject: "subject-of-" + gina, groups: []string{guests}}
}

func (s *Side) agent() caller {
	return caller{name: agent, groups: []string{"system:serviceaccounts", team}}
}

// with is the caller with an API key. The subject is then the key's, not the provider's.
func (c caller) with(key *service.CreatedKey) caller {
	c.key, c.subject = key, ""
	return c
}

// served is the verdict on a caller whom a model serves, by a subscription.
func (s *Side) passes(c caller, m world.Model, subscription string) Verdict {
	scoped := s.key(subscription) + "@" + m.Key().String()
	sum := sha256.Sum256([]byte(scoped))
	const digits = 16
	known := c.properties()
	known["selected_subscription"] = subscription
	known["selected_subscription_key"] = scoped
	known["selected_subscription_id"] = hex.EncodeToString(sum[:])[:digits]
	known["subscription_error"], known["subscription_error_message"] = "", ""
	known["subscription_info"] = including{"name": subscription, "namespace": s.Tenant.Namespace}
	if subscription == gold {
		known["subscription_info"] = including{
			"name": subscription, "namespace": s.Tenant.Namespace, "organizationId": "research", "costCenter": "4711",
			"labels": map[string]any{"tier": "high"},
		}
	}
	headers := map[string][]string{headerUsername: {c.name}, headerGroup: {c.groupHeader()}, headerSubscription: {subscription}}
	if m == s.Models.Messages { // A provider outside learns no credential.
		headers["Authorization"], headers[headerKey] = []string{""}, []string{""}
	}
	return Verdict{Status: http.StatusOK, Reaches: true, Identity: known, Headers: headers}
}
