// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filter is a STAND-IN for the filter (wasm-shim) that kuadrant-operator puts
// into the proxy of a gateway, which cannot run here. It executes the configuration
// that is generated for that filter and nothing else: action sets, predicates, calls
// of an authorization server and of a limiter. It knows no policy, no header and no
// name of its own; what it does not understand of a configuration is an error.
//
// What it does as the filter does is known from the public source of the filter and
// its issues, and said where it matters. What it does not do: several proxies at a
// time, tracing, actions of extensions, request-based limits, access to the body of
// the request. CEL is evaluated by another library than the filter's: in a
// disjunction or conjunction, a failing operand is outweighed by the other one.
package filter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	"github.com/opendatahub-io/maas-operator/hack/gateway/limiter"
)

// Services are what actions call.
type Services struct {
	Authorization authv3.AuthorizationClient
	Limiter       *limiter.Limiter
	Recorder      *Recorder
}

// Answer is a reply of the filter in place of the backend's.
type Answer struct {
	Status int
	Header http.Header
	Body   string

	outcome string
}

// Stream is one request on its way through the filter, and its reply.
type Stream struct {
	services Services
	request  *Request
	decision *Decision
	// fields are the headers with what the authorization server has changed.
	fields fields
	// auth is the dynamic metadata of the authorization server; nil before it answers.
	auth any
	// late are the actions that wait for the reply, reply what they ask of it.
	late  []*action
	reply map[string]any
	roots map[string]map[string]any
	// seen is what expressions see, made when it is first needed after a change.
	seen map[string]any
}

// failed is what the filter answers when an action fails that must not.
const failed = "Internal Server Error.\n"

// Begin runs the actions for a request. Without an answer it may pass, with the
// headers of [Stream.Header].
func (p *Plugin) Begin(ctx context.Context, services Services, r *Request) (*Stream, *Answer) {
	s := &Stream{
		services: services, request: r, fields: r.fields(), roots: r.roots(), reply: map[string]any{},
		decision: &Decision{ID: r.ID(), Time: r.Time, Method: r.Method, Host: r.Host, Path: r.fullPath()},
	}
	set, err := p.find(s)
	if err != nil {
		answer := internalError()
		s.ended(answer, err)
		return s, answer
	}
	if set == nil {
		s.decision.Outcome = OutcomeUnmatched
		s.services.Recorder.add(s.decision)
		return s, nil
	}
	s.decision.ActionSet = set.name
	for _, a := range set.actions {
		if a.late {
			s.late = append(s.late, a)
			continue
		}
		if answer := s.run(ctx, a); answer != nil {
			s.late = nil
			s.ended(answer, nil)
			return s, answer
		}
	}
	s.decision.Outcome = OutcomePassed
	s.services.Recorder.add(s.decision)
	return s, nil
}

func (s *Stream) ended(answer *Answer, err error) {
	s.decision.Outcome, s.decision.Status = answer.outcome, answer.Status
	if err != nil {
		s.decision.Error = err.Error()
	}
	s.services.Recorder.add(s.decision)
}

func internalError() *Answer {
	return &Answer{Status: http.StatusInternalServerError, Body: failed, outcome: OutcomeFailed}
}

// run calls the service of an action, and applies its failure mode. The answer ends
// the request.
func (s *Stream) run(ctx context.Context, a *action) *Answer {
	step := &Step{Service: a.service, Type: a.kind, Scope: a.scope, Sources: a.sources}
	answer, err := s.call(ctx, a, step)
	if err != nil {
		step.Result, step.Error = ResultFailed, err.Error()
		if a.deny {
			answer = internalError()
		}
	}
	s.services.Recorder.change(func() { s.decision.Steps = append(s.decision.Steps, step) })
	return answer
}

func (s *Stream) call(ctx context.Context, a *action, step *Step) (*Answer, error) {
	applies, err := a.applies(s)
	if err != nil {
		return nil, err
	}
	if !applies {
		step.Result = ResultSkipped
		return nil, nil
	}
	switch a.kind {
	case typeAuth:
		return s.authorize(ctx, a, step)
	case typeCheck:
		return s.check(a, step)
	case typeReport:
		return nil, s.report(a, step)
	default: // Compile lets no other kind through.
		return nil, fmt.Errorf("a service of type %q is not played", a.kind)
	}
}

// applies tells whether an action is due: its predicates hold and, if it has data,
// those of one block of it.
func (a *action) applies(s *Stream) (bool, error) {
	ok, failed := conjunction(a.predicates, s)
	if failed == nil && !ok {
		return false, nil
	}
	anyBlock := len(a.blocks) == 0 || slices.ContainsFunc(a.blocks, func(b block) bool { return len(b.predicates) == 0 })
	var unknown error
	for _, b := range a.blocks {
		if anyBlock {
			break
		}
		ok, err := conjunction(b.predicates, s)
		anyBlock, unknown = ok, cmp.Or(unknown, err)
	}
	if !anyBlock {
		return false, unknown
	}
	return failed == nil, failed
}

// variables are what expressions see, beside what each sees of the caller.
func (s *Stream) variables() map[string]any {
	if s.seen == nil {
		request := maps.Clone(s.roots["request"])
		request["headers"] = s.fields.joined()
		s.seen = map[string]any{
			"request": request, "source": s.roots["source"], "destination": s.roots["destination"], "connection": s.roots["connection"],
			replyVariable: s.reply,
		}
	}
	return s.seen
}

// Header is what the proxy sends on.
func (s *Stream) Header() http.Header { return s.fields.header() }
