// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"math"
	"net/http"

	"github.com/google/cel-go/common/types"
)

// tooMany is what the filter answers when a limit is exhausted.
const tooMany = "Too Many Requests\n"

// check asks the limiter whether there is room, without using any.
func (s *Stream) check(a *action, step *Step) (*Answer, error) {
	domain, err := s.ask(a, step)
	if err != nil {
		return nil, err
	}
	over, uses, err := s.services.Limiter.Check(domain, step.Descriptors)
	step.Limits = uses
	if err != nil {
		return nil, fmt.Errorf("ask the limiter: %w", err)
	}
	if !over {
		step.Result = ResultWithin
		return nil, nil
	}
	step.Result, step.Status = ResultOver, http.StatusTooManyRequests
	return &Answer{Status: http.StatusTooManyRequests, Body: tooMany, outcome: OutcomeLimited}, nil
}

// report tells the limiter what has been used. It has no say in the reply.
func (s *Stream) report(a *action, step *Step) error {
	domain, err := s.ask(a, step)
	if err != nil {
		return err
	}
	step.Limits, err = s.services.Limiter.Report(domain, step.Descriptors, step.Hits)
	if err != nil {
		return fmt.Errorf("report to the limiter: %w", err)
	}
	step.Result = ResultReported
	return nil
}

// ask fills in what the limiter is asked. Nothing is if one expression fails, as the
// filter makes its message by a single one.
func (s *Stream) ask(a *action, step *Step) (domain string, err error) {
	domain = a.scope
	if a.domain != nil {
		if domain, err = (entry{key: keyDomain, value: a.domain}).text(s); err != nil {
			return "", err
		}
	}
	if step.Hits, err = a.hitsOf(s); err != nil {
		return "", err
	}
	first, labels := map[string]string{}, map[string]string{}
	for _, b := range a.blocks {
		ok, err := conjunction(b.predicates, s)
		if err != nil {
			return "", err
		}
		for _, e := range b.entries {
			if !ok {
				break
			}
			if first[e.key], err = e.text(s); err != nil {
				return "", err
			}
		}
	}
	for _, e := range a.labels {
		if labels[e.key], err = e.text(s); err != nil {
			return "", err
		}
	}
	for _, descriptor := range []map[string]string{first, labels} {
		if len(descriptor) > 0 {
			step.Descriptors = append(step.Descriptors, descriptor)
		}
	}
	return domain, nil
}

// hitsOf is what the call counts for.
func (a *action) hitsOf(s *Stream) (uint64, error) {
	if a.hits == nil {
		return 1, nil
	}
	value, err := a.hits.eval(s)
	if err != nil {
		return 0, err
	}
	number, ok := value.(types.Uint)
	if !ok || number > math.MaxUint32 {
		return 0, fmt.Errorf("%s is no number of 32 bits", keyHits)
	}
	return uint64(number), nil
}

// text is the value of an entry.
func (e entry) text(s *Stream) (string, error) {
	if e.value == nil {
		return e.fixed, nil
	}
	value, err := e.value.eval(s)
	if err != nil {
		return "", err
	}
	text, ok := value.(types.String)
	if !ok {
		return "", fmt.Errorf("the value of %q is of type %s", e.key, value.Type().TypeName())
	}
	return string(text), nil
}
