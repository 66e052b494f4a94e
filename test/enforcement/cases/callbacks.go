// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// reply is what somebody in the place of maas-api answers.
type reply struct {
	status int
	media  string
	body   string
	// silent ones never answer.
	silent bool
}

// impostor answers the gateway's callbacks in the place of maas-api.
type impostor struct{ validate, choose reply }

// ServeHTTP answers a callback.
func (i impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	answer := i.validate
	if strings.HasSuffix(r.URL.Path, "/select") {
		answer = i.choose
	}
	if answer.silent {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", answer.media)
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body)
}

// object is a reply, or a part of one.
type object map[string]any

// with is the object with another value of a field.
func (o object) with(field string, value any) object {
	out := maps.Clone(o)
	out[field] = value
	return out
}

// without is the object that lacks fields.
func (o object) without(fields ...string) object {
	out := maps.Clone(o)
	for _, field := range fields {
		delete(out, field)
	}
	return out
}

func (o object) reply() reply {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // These are JSON.
	}
	return said(string(text))
}

// said is a reply of any text that claims to be JSON.
func said(body string) reply {
	return reply{status: http.StatusOK, media: "application/json", body: body}
}

// honestKey is what maas-api says of a valid key. Each has another owner, so that no
// answer about an earlier one can be meant.
func honestKey() object {
	return object{
		"valid": true, "userId": "some-id", "username": "olga-" + strings.ToLower(rand.Text()), "keyId": "some-key", "keyName": "some",
		"groups": []string{staff}, "subscription": gold,
	}
}

// honestChoice is what maas-api says of a caller who may use granite.
func honestChoice(s *Side) object {
	return object{
		"name": gold, "namespace": s.Tenant.Namespace, "phase": "Active", "ready": true, "accessAllowed": true,
		"resolvedModel": s.Models.Granite.Key().String(), "subscriptionId": "0123456789abcdef",
	}
}

// callbackCases are what becomes of requests while maas-api does not answer as it should.
func callbackCases() []Case {
	var all []Case
	all = append(all, controls()...)
	for what, answer := range inOrder(badReplies()) {
		said := func(*Side) reply { return answer }
		all = append(all, validates(what, said, ModelRoute), validates(what, said, ServiceRoute), chooses(what, said))
	}
	for what, change := range inOrder(badVerdicts()) {
		answer := func(*Side) reply { return change(honestKey()).reply() }
		all = append(all, validates(what, answer, ModelRoute), validates(what, answer, ServiceRoute))
	}
	for what, change := range inOrder(badChoices()) {
		all = append(all, chooses(what, func(s *Side) reply { return change(honestChoice(s)).reply() }))
	}
	return append(all, unreachable()...)
}

// controls show that somebody in the place of maas-api is believed as long as he says
// what maas-api would: what is refused otherwise is refused for what he says.
func controls() []Case {
	honest := func(s *Side) impostor { return impostor{honestKey().reply(), honestChoice(s).reply()} }
	return []Case{
		{
			Name: "maas-api vouches for a key", At: ModelRoute, Instead: honest, Ask: freshKey(ModelRoute),
			Want: always(Verdict{Status: http.StatusOK, Reaches: true}),
		},
		{
			Name: "maas-api vouches for a key at itself", At: ServiceRoute, Instead: honest, Ask: freshKey(ServiceRoute),
			Want: always(Verdict{Status: http.StatusOK}),
		},
		{
			Name: "maas-api lets in somebody whom no auth policy names", At: ModelRoute, Ask: freshKey(ModelRoute), Want: denied(),
			Instead: func(s *Side) impostor {
				return impostor{honestKey().with("groups", []string{guests}).reply(), honestChoice(s).reply()}
			},
		},
		{
			Name: "maas-api vouches for a key without a subscription, and the client names one", Rows: []string{"A23"}, At: ServiceRoute, Want: denied(),
			Ask: func(ctx context.Context, s *Side) (world.Request, error) {
				r, err := freshKey(ServiceRoute)(ctx, s)
				r.Headers = append(r.Headers, world.Headers(headerSubscription, silver)...)
				return r, err
			},
			Instead: func(s *Side) impostor {
				return impostor{honestKey().without("subscription").reply(), honestChoice(s).reply()}
			},
		},
		{
			Name: "maas-api chooses a subscription that is degraded", At: ModelRoute, Ask: freshKey(ModelRoute),
			Instead: func(s *Side) impostor {
				return impostor{honestKey().reply(), honestChoice(s).with("phase", "Degraded").reply()}
			},
			Want: always(Verdict{Status: http.StatusOK, Reaches: true}),
		},
	}
}

// freshKey is a request with a key that nobody has seen before.
func freshKey(at Place) askFunc {
	return ask(func(s *Side) world.Request {
		credential := world.Bearer("sk-oai-" + rand.Text())
		if at == ServiceRoute {
			return s.get("/v1/subscriptions", credential...)
		}
		return s.chat(s.Models.Granite, credential...)
	})
}

// validates is what becomes of a key while maas-api says this of it.
func validates(what string, answer func(*Side) reply, at Place) Case {
	name := "of a key maas-api says "
	if at == ServiceRoute {
		name = "of a key at itself maas-api says "
	}
	return Case{
		Name: name + what, Rows: []string{"A30", "A35"}, At: at, Ask: freshKey(at), Want: kept(),
		Instead: func(s *Side) impostor { return impostor{answer(s), honestChoice(s).reply()} },
	}
}

// chooses is what becomes of a caller while maas-api answers this to what he may.
func chooses(what string, answer func(*Side) reply) Case {
	return Case{
		Name: "of a caller maas-api says " + what, Rows: []string{"A30", "A35"}, At: ModelRoute, Ask: freshKey(ModelRoute), Want: kept(),
		Instead: func(s *Side) impostor { return impostor{honestKey().reply(), answer(s)} },
	}
}

// kept is a refusal of any kind, also by an error of the gateway or by a limit.
func kept() func(*Side) Verdict {
	return always(Verdict{Status: anyStatus, Further: func(a world.Answer) error {
		refusals := []int{http.StatusForbidden, http.StatusInternalServerError, http.StatusTooManyRequests}
		if a.Reached != nil || !slices.Contains(refusals, a.Status) {
			return fmt.Errorf("%s", a)
		}
		return nil
	}})
}

// Silence is what becomes of requests while maas-api takes the gateway's questions and
// never answers. Each takes as long as the gateway gives Authorino. They are not among
// the others: at the very moment at which that time is over Authorino passes over the
// rules that it has not come to, and lets a request through. Nothing that an AuthPolicy
// says keeps it from that.
func Silence() []Case {
	nothing := func(*Side) reply { return reply{silent: true} }
	const what = "nothing for as long as it is asked"
	all := []Case{validates(what, nothing, ModelRoute), chooses(what, nothing), validates(what, nothing, ServiceRoute)}
	for _, c := range all {
		if c.At == ServiceRoute { // None of the rules counts, nor that against names that a client claims.
			plain := c.Ask
			c.Name += ", with the name of another"
			c.Ask = func(ctx context.Context, s *Side) (world.Request, error) {
				r, err := plain(ctx, s)
				r.Headers = append(r.Headers, world.Headers(headerUsername, agent, headerGroup, `["`+staff+`"]`)...)
				return r, err
			}
			all = append(all, c)
		}
	}
	return all
}

// badReplies are answers that say nothing.
func badReplies() map[string]reply {
	const much = 3 << 20
	return map[string]reply{
		"nothing":                    said(""),
		"null":                       said("null"),
		"true":                       said("true"),
		"a text":                     said(`"valid"`),
		"a list":                     said(`[{"valid":true,"accessAllowed":true,"name":"gold"}]`),
		"an empty object":            said("{}"),
		"half an object":             said(`{"valid":true,"username":"olga","accessAllowed":true,"na`),
		"a page":                     {status: http.StatusOK, media: "text/html", body: "<html>valid</html>"},
		"a page that is called JSON": said("<html>valid</html>"),
		"three mebibytes of nothing": said(`{"x":"` + strings.Repeat("x", much) + `"}`),
		"that it is broken":          {status: http.StatusInternalServerError, media: "application/json", body: `{"error":"internal_error"}`},
		"that it is nobody's":        {status: http.StatusNotFound, media: "application/json", body: "{}"},
		"that it is elsewhere":       {status: http.StatusFound, media: "text/plain", body: ""},
	}
}

// badVerdicts are answers about a key that differ in one point from a good one.
func badVerdicts() map[string]func(object) object {
	with := func(field string, value any) func(object) object {
		return func(o object) object { return o.with(field, value) }
	}
	without := func(field string) func(object) object { return func(o object) object { return o.without(field) } }
	return map[string]func(object) object{
		"that it is not valid":               with("valid", false),
		"\"true\" to whether it is valid":    with("valid", "true"),
		"1 to whether it is valid":           with("valid", 1),
		"null to whether it is valid":        with("valid", nil),
		"nothing to whether it is valid":     without("valid"),
		"that it is valid, of nobody":        without("username"),
		"that it is valid, of an empty name": with("username", ""),
		"that it is valid, of null":          with("username", nil),
		"that it is valid, of a list":        with("username", []string{olga}),
	}
}

// badChoices are answers about a caller that differ in one point from a good one.
func badChoices() map[string]func(object) object {
	with := func(field string, value any) func(object) object {
		return func(o object) object { return o.with(field, value) }
	}
	without := func(field string) func(object) object { return func(o object) object { return o.without(field) } }
	return map[string]func(object) object{
		"that access is denied":                        with("accessAllowed", false),
		"\"true\" to whether access is allowed":        with("accessAllowed", "true"),
		"null to whether access is allowed":            with("accessAllowed", nil),
		"nothing to whether access is allowed":         without("accessAllowed"),
		"no subscription":                              without("name"),
		"an empty subscription":                        with("name", ""),
		"null for a subscription":                      with("name", nil),
		"a list of subscriptions":                      with("name", []string{gold}),
		"a subscription and an error":                  with("error", "not_found"),
		"a subscription and an error that is a list":   with("error", []string{"not_found"}),
		"a subscription that failed":                   with("phase", "Failed"),
		"a subscription that is pending":               with("phase", "Pending"),
		"a subscription in no phase":                   without("phase"),
		"a subscription in a phase of null":            with("phase", nil),
		"a subscription that is being deleted":         with("deletionTimestamp", "2026-01-01T00:00:00Z"),
		"a subscription for another model":             with("resolvedModel", "llm/another"),
		"a subscription for no model":                  without("resolvedModel"),
		"a subscription for a model of null":           with("resolvedModel", nil),
		"a subscription for a model that begins alike": func(o object) object { return o.with("resolvedModel", o["resolvedModel"].(string)+"-2") },
	}
}

// unreachable are callbacks that get to nobody, or to somebody who proves nothing.
func unreachable() []Case {
	var all []Case
	for _, at := range []Place{ModelRoute, ServiceRoute} {
		all = append(all,
			Case{
				Name: "maas-api cannot be reached, and a key asks for " + string(at), Rows: []string{"A30"}, At: at, Ask: freshKey(at), Want: denied(),
				While: func(ctx context.Context, s *Side) (func() error, error) { return s.Tenant.Isolate(ctx) },
			},
			Case{
				Name: "somebody without a certificate is in the place of maas-api, and a key asks for " + string(at), Rows: []string{"A30", "B15"},
				At: at, Ask: freshKey(at), Want: denied(),
				While: func(ctx context.Context, s *Side) (func() error, error) {
					return s.Tenant.ImpersonateUnproven(ctx, impostor{honestKey().reply(), honestChoice(s).reply()})
				},
			},
		)
	}
	return append(all, Case{
		Name: "maas-api cannot be reached, and a token asks for a model", Rows: []string{"A30"}, At: ModelRoute, Want: denied(),
		Ask: func(ctx context.Context, s *Side) (world.Request, error) {
			return named("", "olga-"+strings.ToLower(rand.Text()), nil).Ask(ctx, s)
		},
		While: func(ctx context.Context, s *Side) (func() error, error) { return s.Tenant.Isolate(ctx) },
	})
}
