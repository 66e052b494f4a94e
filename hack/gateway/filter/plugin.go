// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Plugin is a configuration that can be executed.
type Plugin struct {
	hosts map[string][]*actionSet
	sets  int
}

// actionSet is what happens to requests for certain hosts that its predicates hold
// for.
type actionSet struct {
	name       string
	predicates []*expression
	actions    []*action
}

// action is one call of a service.
type action struct {
	service, kind string
	deny          bool // What a failure means.
	timeout       time.Duration
	scope         string
	sources       []string
	predicates    []*expression
	blocks        []block
	// domain and hits are what the data says of the call itself; nil: the scope, and 1.
	domain, hits *expression
	// labels are the data of the whole configuration, for the second descriptor.
	labels []entry
	// metadata are the same as the authorization server gets them, by their domain.
	metadata map[string][]entry
	// late actions need something of the reply.
	late bool
}

// block is data that is sent when its predicates hold.
type block struct {
	predicates []*expression
	entries    []entry
}

// entry is a key with its value as a text.
type entry struct {
	key   string
	fixed string // Instead of an expression.
	value *expression
}

// The keys of data that are about the call.
const (
	keyDomain = "ratelimit.domain"
	keyHits   = "ratelimit.hits_addend"
)

// Compile reads the configuration of the filter. What it does not know is an error.
func Compile(text []byte, expressions *Expressions) (*Plugin, error) {
	c, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the filter's configuration: %w", err)
	}
	labels, err := labelsOf(c.RequestData, expressions)
	if err != nil {
		return nil, err
	}
	p := &Plugin{hosts: map[string][]*actionSet{}, sets: len(c.ActionSets)}
	for i := range c.ActionSets {
		set, err := c.actionSet(&c.ActionSets[i], labels, expressions)
		if err != nil {
			return nil, fmt.Errorf("action set %q: %w", c.ActionSets[i].Name, err)
		}
		for _, host := range c.ActionSets[i].RouteRuleConditions.Hostnames {
			host = strings.ToLower(host)
			p.hosts[host] = append(p.hosts[host], set)
		}
	}
	return p, nil
}

// ActionSets counts the action sets.
func (p *Plugin) ActionSets() int { return p.sets }

func (c *configuration) actionSet(in *actionSetConfig, labels []label, x *Expressions) (*actionSet, error) {
	out := &actionSet{name: in.Name}
	var err error
	if out.predicates, err = x.predicates(in.RouteRuleConditions.Predicates); err != nil {
		return nil, err
	}
	for _, p := range out.predicates {
		if len(p.reply) > 0 {
			return nil, fmt.Errorf("predicate %q chooses a route by the reply", p.text)
		}
	}
	for i := range in.Actions {
		a, err := c.action(&in.Actions[i], labels, x)
		if err != nil {
			return nil, fmt.Errorf("action %d: %w", i, err)
		}
		out.actions = append(out.actions, a)
	}
	return out, nil
}

func (c *configuration) action(in *actionConfig, labels []label, x *Expressions) (*action, error) {
	s, ok := c.Services[in.Service]
	if !ok {
		return nil, fmt.Errorf("there is no service %q", in.Service)
	}
	out := &action{
		service: in.Service, kind: s.Type, deny: s.FailureMode == failureDeny, timeout: cmp.Or(time.Duration(s.Timeout), defaultTimeout),
		scope: in.Scope, sources: in.Sources,
	}
	var err error
	if out.predicates, err = x.predicates(in.Predicates); err != nil {
		return nil, err
	}
	switch s.Type {
	case typeAuth:
		if len(in.ConditionalData) > 0 {
			return nil, errors.New("an auth action carries data")
		}
		out.metadata = metadataOf(labels)
	case typeCheck, typeReport:
		if err := out.fill(in.ConditionalData, x); err != nil {
			return nil, err
		}
		for _, l := range labels {
			if s.Type == typeReport || len(l.value.reply) == 0 {
				out.labels = append(out.labels, entry{key: l.key(), value: l.text})
			}
		}
	default:
		return nil, fmt.Errorf("service %q is of type %q, which the stand-in does not play", in.Service, s.Type)
	}
	for e := range out.expressions() {
		out.late = out.late || len(e.reply) > 0
	}
	if out.late && s.Type != typeReport {
		return nil, fmt.Errorf("service %q of type %q asks for the reply", in.Service, s.Type)
	}
	return out, nil
}

// fill reads the data of a limit's action.
func (a *action) fill(data []conditionalData, x *Expressions) error {
	for _, d := range data {
		var b block
		var err error
		if b.predicates, err = x.predicates(d.Predicates); err != nil {
			return err
		}
		for _, item := range d.Data {
			if (item.Static == nil) == (item.Expression == nil) {
				return errors.New("a piece of data is neither static nor an expression")
			}
			if err := a.add(&b, item, x); err != nil {
				return err
			}
		}
		a.blocks = append(a.blocks, b)
	}
	return nil
}

// add takes one piece of data: about the call, or an entry of the descriptor. The
// first value about the call counts, whether or not its block applies.
func (a *action) add(b *block, item dataItem, x *Expressions) error {
	key, text := cmp.Or(item.Static, item.Expression).Key, ""
	if item.Expression != nil {
		text = item.Expression.Value
	}
	switch {
	case key == keyHits || key == keyDomain:
		if item.Static != nil && key == keyHits {
			text = item.Static.Value
		} else if item.Static != nil {
			text = fmt.Sprintf("%q", item.Static.Value)
		}
		if key == keyHits {
			text = "uint(" + text + ")"
		}
		value, err := x.value(text)
		if err != nil {
			return err
		}
		if key == keyHits {
			a.hits = cmp.Or(a.hits, value)
		} else {
			a.domain = cmp.Or(a.domain, value)
		}
	case item.Static != nil:
		b.entries = append(b.entries, entry{key: key, fixed: item.Static.Value})
	default:
		value, err := x.value("string(" + text + ")")
		if err != nil {
			return err
		}
		b.entries = append(b.entries, entry{key: key, value: value})
	}
	return nil
}

// expressions visits every expression of the action.
func (a *action) expressions() func(func(*expression) bool) {
	all := slices.Clone(a.predicates)
	for _, b := range a.blocks {
		all = append(all, b.predicates...)
		for _, e := range b.entries {
			all = append(all, e.value)
		}
	}
	for _, e := range a.labels {
		all = append(all, e.value)
	}
	all = append(all, a.domain, a.hits)
	return slices.Values(slices.DeleteFunc(all, func(e *expression) bool { return e == nil }))
}

func (e *Expressions) predicates(texts []string) (out []*expression, err error) {
	for _, text := range texts {
		p, err := e.predicate(text)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// label is an entry of requestData: what telemetry wants to know of a request.
type label struct {
	domain, field string
	value, text   *expression // As it is, and as a text.
}

// labelDomain is the domain that is left out of the keys that a limiter sees.
const labelDomain = "metrics.labels"

func labelsOf(data map[string]string, x *Expressions) ([]label, error) {
	var out []label
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value, err := x.value(data[name])
		if err != nil {
			return nil, fmt.Errorf("request data %q: %w", name, err)
		}
		text, err := x.value("string(" + data[name] + ")")
		if err != nil {
			return nil, fmt.Errorf("request data %q: %w", name, err)
		}
		domain, field := domainAndField(name)
		out = append(out, label{domain: domain, field: field, value: value, text: text})
	}
	slices.SortStableFunc(out, func(a, b label) int { return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.field, b.field)) })
	return out, nil
}

// domainAndField splits a name at its last dot that letters follow.
func domainAndField(name string) (domain, field string) {
	last := strings.LastIndexFunc(name, unicode.IsLetter)
	if last < 0 {
		return "", name
	}
	if dot := strings.LastIndexByte(name[:last], '.'); dot > 0 {
		return name[:dot], name[dot+1:]
	}
	return "", name
}

func (l label) key() string {
	if l.domain == "" || l.domain == labelDomain {
		return l.field
	}
	return l.domain + "." + l.field
}

// metadataOf is what the authorization server gets of the labels: those that ask for
// what it decides itself as the text of their expression, under the key cel_expr.
func metadataOf(labels []label) map[string][]entry {
	out := map[string][]entry{}
	for _, l := range labels {
		if len(l.value.reply) > 0 {
			continue
		}
		domain := "io.kuadrant"
		if l.domain != "" {
			domain += "." + l.domain
		}
		e := entry{key: l.field, value: l.text}
		if strings.Contains(l.value.text, "auth.") {
			e = entry{key: l.field, fixed: l.value.text}
		}
		out[domain] = append(out[domain], e)
	}
	return out
}

// find returns the first action set that takes the request: of those for the most
// specific host name that matches, and of no other.
func (p *Plugin) find(s *Stream) (*actionSet, error) {
	for _, set := range p.hosts[p.hostname(s.request.Host)] {
		ok, err := conjunction(set.predicates, s)
		if err != nil {
			return nil, fmt.Errorf("action set %q: %w", set.name, err)
		}
		if ok {
			return set, nil
		}
	}
	return nil, nil
}

// hostname is the most specific name of the configuration that is for a host.
func (p *Plugin) hostname(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	if _, ok := p.hosts[host]; ok {
		return host
	}
	for rest := host; rest != ""; {
		_, after, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		if _, ok := p.hosts["*."+after]; ok {
			return "*." + after
		}
		rest = after
	}
	return "*"
}

// conjunction tells whether all predicates hold. One that does not outweighs others
// that fail.
func conjunction(predicates []*expression, s *Stream) (bool, error) {
	var failed error
	for _, p := range predicates {
		ok, err := p.holds(s)
		if err == nil && !ok {
			return false, nil
		}
		failed = cmp.Or(failed, err)
	}
	return failed == nil, failed
}
