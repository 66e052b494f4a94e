// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// Place is what a request meets at the gateway.
type Place string

// The places, each with a generated policy of its own.
const (
	// ModelRoute is the route of a model, with the model's policies.
	ModelRoute Place = "the route of a model"
	// ServiceRoute is the route to maas-api.
	ServiceRoute Place = "the route to maas-api"
	// Elsewhere is everything else: the Gateway's own policies are for it.
	Elsewhere Place = "what no other policy is for"
)

// Which is one of the tenants: only the default one has a model of the messages format.
type Which string

// The tenants.
const (
	DefaultTenant Which = "the default tenant"
	RedTenant     Which = "red"
)

// Case is a request, and what must become of it.
type Case struct {
	// Name says who asks for what, Rows which failures of others it is about.
	Name string
	Rows []string
	// At is what the request meets.
	At Place
	// Only, unless empty, is the tenant that the case is about.
	Only Which
	// Instead, unless nil, answers the gateway's callbacks meanwhile in the place of the
	// tenant's maas-api; While, unless nil, is what else is done meanwhile, and how it is
	// undone.
	Instead func(*Side) impostor
	While   func(context.Context, *Side) (back func() error, err error)
	// Ask makes the request.
	Ask func(context.Context, *Side) (world.Request, error)
	// Want is what must become of it.
	Want func(*Side) Verdict
}

// Verdict is what must become of a request.
type Verdict struct {
	Status int
	// Reason and Body are those of a refusal, to the letter; Type is its media type.
	Reason, Body, Type string
	// Challenged tells whether the answer says how to log in, and nothing more.
	Challenged bool
	// Reaches tells whether the request gets to the model.
	Reaches bool
	// Headers are what the model sees, to the letter; nil: it must see no such header.
	Headers map[string][]string
	// Identity is what limits and telemetry know of the caller.
	Identity map[string]any
	// Further looks at the answer itself.
	Further func(world.Answer) error
}

// Problem is something that is not as it must be.
type Problem struct{ What, Want, Got string }

// String is for failure messages.
func (p Problem) String() string { return fmt.Sprintf("%s: want %s, got %s", p.What, p.Want, p.Got) }

// Run sends the request of a case and returns what is not as it must be.
func (c Case) Run(ctx context.Context, s *Side) (world.Answer, []Problem, error) {
	request, answer, err := c.ask(ctx, s)
	if err != nil {
		return answer, nil, fmt.Errorf("%s at %s: %w", c.Name, s.Tenant, err)
	}
	return answer, slices.Concat(c.Want(s).compare(answer), leaks(request, answer)), nil
}

// RunAtOnce sends as many requests of a case at the same time, and returns what is not
// as it must be with the answers.
func (c Case) RunAtOnce(ctx context.Context, s *Side, n int) (answers []world.Answer, all []Problem, err error) {
	answers, found, failed := make([]world.Answer, n), make([][]Problem, n), make([]error, n)
	err = c.meanwhile(ctx, s, func() error {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var request world.Request
				request, answers[i], failed[i] = c.send(ctx, s)
				found[i] = slices.Concat(c.Want(s).compare(answers[i]), leaks(request, answers[i]))
			})
		}
		wg.Wait()
		return errors.Join(failed...)
	})
	return answers, slices.Concat(found...), err
}

// ask sends the request under the circumstances of the case.
func (c Case) ask(ctx context.Context, s *Side) (request world.Request, answer world.Answer, err error) {
	err = c.meanwhile(ctx, s, func() (err error) {
		request, answer, err = c.send(ctx, s)
		return err
	})
	return request, answer, err
}

func (c Case) send(ctx context.Context, s *Side) (world.Request, world.Answer, error) {
	request, err := c.Ask(ctx, s)
	if err != nil {
		return request, world.Answer{}, err
	}
	answer, err := s.world.Do(ctx, request)
	return request, answer, err
}

// meanwhile does something under the circumstances of the case.
func (c Case) meanwhile(ctx context.Context, s *Side, do func() error) (err error) {
	while := c.While
	if c.Instead != nil {
		while = func(ctx context.Context, s *Side) (func() error, error) {
			return s.Tenant.Impersonate(ctx, c.Instead(s))
		}
	}
	if while != nil {
		back, failed := while(ctx, s)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, back()) }()
	}
	return do()
}

// Holds tells whether the case is one of a tenant's.
func (c Case) Holds(which Which) bool { return c.Only == "" || c.Only == which }

// compare finds what differs from the verdict.
func (v Verdict) compare(a world.Answer) []Problem {
	var all problems
	if v.Status != anyStatus {
		all.differ("status", v.Status, a.Status)
		all.differ("reaches the model", v.Reaches, a.Reached != nil)
	}
	if v.Reason != "" || v.Body != "" {
		all.differ("X-Ext-Auth-Reason", v.Reason, a.Reason())
		all.differ("body", v.Body, strings.TrimSpace(a.Body))
	}
	if v.Type != "" {
		media := a.Header.Get("Content-Type")
		if v.Status == http.StatusOK { // A refusal's is a policy's, to the letter.
			media, _, _ = strings.Cut(media, ";")
		}
		all.differ("Content-Type", v.Type, media)
	}
	if v.Status == http.StatusUnauthorized {
		var want []string
		if v.Challenged {
			want = []string{`Bearer realm="maas"`}
		}
		all.differ("WWW-Authenticate", want, a.Header.Values("WWW-Authenticate"))
	}
	if a.Reached != nil {
		for name, want := range v.Headers {
			all.differ("header "+name+" at the model", want, a.Reached.Header.Values(name))
		}
	}
	if v.Identity != nil {
		v.compareIdentity(a, &all)
	}
	if v.Further != nil {
		if err := v.Further(a); err != nil {
			all.found = append(all.found, Problem{What: "answer", Want: "as described", Got: err.Error()})
		}
	}
	return all.found
}

// compareIdentity compares the whole of what is known of the caller.
func (v Verdict) compareIdentity(a world.Answer, all *problems) {
	got := a.Decision.Identity()
	names := map[string]bool{}
	for name := range v.Identity {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		want, wanted := v.Identity[name]
		value, known := got[name]
		switch {
		case wanted != known:
			all.differ("auth.identity."+name+" is there", wanted, known)
		case matches(want, value):
		default:
			all.differ("auth.identity."+name, want, value)
		}
	}
	for name := range a.Decision.Metadata() {
		if name != "identity" {
			all.differ("metadata "+name+" is there", false, true)
		}
	}
}

// anything is a value that is known from nowhere else.
type anything struct{}

// including is an object with at least these fields.
type including map[string]any

// matches compares values as JSON has them.
func matches(want, got any) bool {
	switch w := want.(type) {
	case anything:
		return got != nil && got != ""
	case including:
		object, _ := got.(map[string]any)
		for name, value := range w {
			if !matches(value, object[name]) {
				return false
			}
		}
		return object != nil
	default:
		return reflect.DeepEqual(asJSON(want), asJSON(got))
	}
}

func asJSON(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var out any
	if json.Unmarshal(text, &out) != nil {
		return value
	}
	return out
}

// problems collects what differs.
type problems struct{ found []Problem }

func (p *problems) differ(what string, want, got any) {
	if !reflect.DeepEqual(asJSON(want), asJSON(got)) {
		p.found = append(p.found, Problem{What: what, Want: show(want), Got: show(got)})
	}
}

func show(value any) string {
	const most = 300
	text, err := json.Marshal(value)
	if err != nil {
		text = fmt.Append(nil, value)
	}
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
