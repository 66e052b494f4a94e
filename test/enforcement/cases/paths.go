// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// paths are requests whose paths are made to look like others. What such a path leads
// to differs between gateways; nobody gets by it to where he does not get without.
func paths() []Case {
	var all []Case
	for _, path := range []string{
		"%s/v1/chat/completions?x=/v1/models", "%s/v1/chat/completions?x=/maas-api/health", "%s/v1/chat/completions?", "%s/v1/chat/completions#/maas-api/health",
		"/%s/v1/chat/completions", "/.%s/v1/chat/completions", "/x/..%s/v1/chat/completions", "%s/../%s/v1/chat/completions",
		"/maas-api/health/../..%s/v1/chat/completions", "/maas-api/health/%%2e%%2e/%%2e%%2e%s/v1/chat/completions",
		"/maas-api/health%%2f..%%2f..%s/v1/chat/completions", "/v1/models/../..%s/v1/chat/completions", "/v1/models/..%%2f..%s/v1/chat/completions",
		"/maas-api/health;%s/v1/chat/completions", "/maas-api/health%%00%s/v1/chat/completions", "/maas-api/health%%3f%s/v1/chat/completions",
		"/maas-api/health\\..\\..%s/v1/chat/completions", "https://maas.example.com%s/v1/chat/completions",
	} {
		all = append(all, disguised(path, func(s *Side) string { return s.Models.Granite.Path() }, "a model")...)
	}
	for _, path := range []string{
		"/llm%%2F%s", "/llm//%s", "/llm/./%s", "/llm/x/../%s", "/LLM/%s",
	} {
		all = append(all, disguised(path+"/v1/models", func(s *Side) string { return s.Models.Granite.Name }, "a model")...)
	}
	all = append(all, elsewhere()...)
	for _, path := range []string{"/maas-api/health/../v1/models", "/maas-api/health/%2e%2e/v1/models", "/maas-api/health/../../v1/models", "/maas-api/./v1/models"} {
		all = append(all, Case{
			Name: "nobody at " + path, Rows: []string{"B11"}, At: ServiceRoute, Want: notThrough(),
			Ask: ask(func(s *Side) world.Request { return s.get(path) }),
		})
	}
	return append(all, lists()...)
}

// lists are requests that look as if they read the list of models. Only those that do
// are not held against the caller's limits.
func lists() []Case {
	at := func(method, path string) askFunc {
		return ask(func(s *Side) world.Request {
			r := s.get(s.Models.Granite.Path()+path, world.Bearer(s.Keys.Olgas.Key)...)
			r.Method = method
			return r
		})
	}
	held := func(want bool) func(*Side) Verdict {
		return always(Verdict{Status: http.StatusOK, Reaches: true, Further: func(a world.Answer) error {
			held := false
			for _, check := range a.Decision.StepsOf("ratelimit-check") {
				held = held || len(check.Limits) > 0
			}
			if held != want {
				return fmt.Errorf("held against a limit: %t", held)
			}
			return nil
		}})
	}
	return []Case{
		{Name: "a valid key reads the list of models", Rows: []string{"B11"}, At: ModelRoute, Ask: at(http.MethodGet, "/v1/models"), Want: held(false)},
		{Name: "a valid key writes to the list of models", Rows: []string{"B11"}, At: ModelRoute, Ask: at(http.MethodPost, "/v1/models"), Want: held(true)},
		{
			Name: "a valid key asks with a parameter of the path that is the list of models", Rows: []string{"B11"}, At: ModelRoute,
			Ask: at(http.MethodPost, "/v1/chat/completions;/v1/models"), Want: held(true),
		},
	}
}

// disguised are requests for a place by another path: nobody does not get there, nor
// does somebody who may not, and whoever may gets there as himself or not at all.
func disguised(pattern string, place func(*Side) string, what string) []Case {
	path := func(s *Side) string { return fmt.Sprintf(pattern, repeat(place(s), strings.Count(pattern, "%s"))...) }
	shown := fmt.Sprintf(pattern, repeat("<"+what+">", strings.Count(pattern, "%s"))...)
	request := func(credential func(*Side) []world.Header) askFunc {
		return ask(func(s *Side) world.Request { return s.get(path(s), credential(s)...) })
	}
	rows := []string{"B11"}
	return []Case{
		{Name: "nobody at " + shown, Rows: rows, At: ModelRoute, Want: notThrough(), Ask: request(func(*Side) []world.Header { return nil })},
		{
			Name: "somebody without groups at " + shown, Rows: rows, At: ModelRoute, Want: notThrough(),
			Ask: request(func(s *Side) []world.Header { return world.Bearer(s.Tokens.Otto) }),
		},
		{
			Name: "a key of another tenant at " + shown, Rows: rows, At: ModelRoute, Want: notThrough(),
			Ask: request(func(s *Side) []world.Header { return world.Bearer(s.Other.Keys.Olgas.Key) }),
		},
		{
			Name: "a valid key at " + shown, Rows: rows, At: ModelRoute, Ask: request(func(s *Side) []world.Header { return world.Bearer(s.Keys.Olgas.Key) }),
			Want: func(s *Side) Verdict {
				return Verdict{Status: anyStatus, Further: func(a world.Answer) error { return asHimself(s, a) }}
			},
		},
	}
}

// anyStatus leaves the status, and whether the request reaches the model, to the
// verdict's own look.
const anyStatus = 0

// asHimself looks whether a request that got to the model did so with the identity of
// the key's owner.
func asHimself(s *Side, a world.Answer) error {
	if a.Reached == nil {
		return nil
	}
	for name, want := range s.passes(s.olga().with(&s.Keys.Olgas), s.Models.Granite, gold).Headers {
		if got := a.Reached.Header.Values(name); len(got) != 1 || got[0] != want[0] {
			return fmt.Errorf("it reaches the model at %s with %s: %q", a.Reached.Path, name, got)
		}
	}
	return nil
}

// notThrough is a refusal of any kind, or nothing found.
func notThrough() func(*Side) Verdict {
	return always(Verdict{Status: anyStatus, Further: func(a world.Answer) error {
		if a.Reached != nil || a.Status < http.StatusBadRequest || a.Status >= http.StatusInternalServerError {
			return fmt.Errorf("%s", a)
		}
		return nil
	}})
}

// elsewhere are paths to models that the caller may not use, by way of one he may.
func elsewhere() []Case {
	var all []Case
	for _, pattern := range []string{"%s/../%s/v1/models", "%s/%%2e%%2e/%s/v1/models", "%s/..%%2f%s/v1/models", "%s/x/../../%s/v1/models"} {
		for what, to := range inOrder(map[string]func(Models) world.Model{
			"<one that nothing governs>": func(m Models) world.Model { return m.Bare },
			"<one that nobody pays for>": func(m Models) world.Model { return m.Unpaid },
			"<one that no policy opens>": func(m Models) world.Model { return m.Closed },
		}) {
			all = append(all, Case{
				Name: "a valid key at " + fmt.Sprintf(pattern, "<its model>", what), Rows: []string{"B11"}, At: ModelRoute,
				Ask: ask(func(s *Side) world.Request {
					return s.get(fmt.Sprintf(pattern, s.Models.Granite.Path(), to(s.Models).Name), world.Bearer(s.Keys.Olgas.Key)...)
				}),
				Want: func(s *Side) Verdict {
					return Verdict{Status: anyStatus, Further: func(a world.Answer) error {
						if a.Decision != nil && strings.Contains(a.Decision.ActionSet, to(s.Models).Name) && a.Reached != nil {
							return fmt.Errorf("%s", a)
						}
						return asHimself(s, a)
					}}
				},
			})
		}
	}
	return all
}

func repeat(text string, n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = text
	}
	return out
}
