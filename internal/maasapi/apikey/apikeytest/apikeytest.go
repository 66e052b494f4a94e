// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apikeytest has a store in memory and other stand-ins for tests of
// what is built on package apikey. No program imports it.
package apikeytest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// graceOfEphemeral is how long ephemeral keys stay after their expiry.
const graceOfEphemeral = 30 * time.Minute

// Store is an [apikey.Store] in memory. Its zero value, with a clock, is empty
// and works.
type Store struct {
	Clock clock.PassiveClock
	// Fail, if not nil, is asked before each call, by the name of the method.
	Fail func(method string) error
	// Due is how many keys PurgeDue finds the first time.
	Due int64

	mu    sync.Mutex
	keys  []apikey.NewKey
	calls map[string]int
}

var _ apikey.Store = (*Store)(nil)

// ErrUnusable is returned for texts that PostgreSQL would refuse.
var ErrUnusable = errors.New("invalid byte sequence")

// Calls returns how often a method was called.
func (s *Store) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Stored returns the key of an id as it is stored: an active one past its expiry
// is active.
func (s *Store) Stored(id string) (apikey.NewKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.keys, func(k apikey.NewKey) bool { return k.ID == id })
	if at < 0 {
		return apikey.NewKey{}, false
	}
	return s.keys[at], true
}

// Add stores keys as they are.
func (s *Store) Add(keys ...apikey.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if k.Status == "" {
			k.Status = apikey.StatusActive
		}
		s.keys = append(s.keys, apikey.NewKey{Key: k})
	}
}

// begin counts a call and locks the store until done is called.
func (s *Store) begin(method string, texts ...string) (done func(), err error) {
	s.mu.Lock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[method]++
	if s.Fail != nil {
		err = s.Fail(method)
	}
	for _, text := range texts {
		if err == nil && (strings.Contains(text, "\x00") || strings.ToValidUTF8(text, "") != text) {
			err = ErrUnusable
		}
	}
	return s.mu.Unlock, err
}

// Insert implements [apikey.Store].
func (s *Store) Insert(_ context.Context, k apikey.NewKey) error {
	texts := append([]string{k.ID, k.Username, k.Name, k.Description, k.Subscription, k.Tenant}, k.Groups...)
	for name, value := range k.Labels {
		texts = append(texts, name, value)
	}
	done, err := s.begin("Insert", texts...)
	defer done()
	if err == nil {
		s.keys = append(s.keys, k)
	}
	return err
}

// Get implements [apikey.Store].
func (s *Store) Get(_ context.Context, id string) (apikey.Key, error) {
	done, err := s.begin("Get", id)
	defer done()
	if err != nil {
		return apikey.Key{}, err
	}
	for _, k := range s.keys {
		if k.ID == id {
			return s.effective(k.Key), nil
		}
	}
	return apikey.Key{}, apikey.ErrNotFound
}

// effective returns the key with the state it has now.
func (s *Store) effective(k apikey.Key) apikey.Key {
	if k.Status == apikey.StatusActive && !k.ExpiresAt.IsZero() && !s.Clock.Now().Before(k.ExpiresAt) {
		k.Status = apikey.StatusExpired
	}
	return k
}

// Revoke implements [apikey.Store].
func (s *Store) Revoke(_ context.Context, id string) (apikey.Key, error) {
	done, err := s.begin("Revoke", id)
	defer done()
	if err != nil {
		return apikey.Key{}, err
	}
	for i := range s.keys {
		if s.keys[i].ID == id && s.keys[i].Status == apikey.StatusActive {
			s.keys[i].Status = apikey.StatusRevoked
			return s.keys[i].Key, nil
		}
	}
	return apikey.Key{}, apikey.ErrNotFound
}

// CountActive implements [apikey.Store].
func (s *Store) CountActive(_ context.Context, scope apikey.Scope) (int64, error) {
	return s.each("CountActive", scope, func(*apikey.NewKey) {})
}

// RevokeActive implements [apikey.Store].
func (s *Store) RevokeActive(_ context.Context, scope apikey.Scope) (int64, error) {
	return s.each("RevokeActive", scope, func(k *apikey.NewKey) { k.Status = apikey.StatusRevoked })
}

func (s *Store) each(method string, scope apikey.Scope, visit func(*apikey.NewKey)) (int64, error) {
	done, err := s.begin(method, scope.Username, scope.Subscription)
	defer done()
	if err != nil {
		return 0, err
	}
	if scope.Empty() {
		return 0, apikey.ErrEmptyScope
	}
	var count int64
	for i := range s.keys {
		k := &s.keys[i]
		if s.effective(k.Key).Status == apikey.StatusActive &&
			(scope.Username == "" || k.Username == scope.Username) &&
			(scope.Subscription == "" || k.Subscription == scope.Subscription) {
			visit(k)
			count++
		}
	}
	return count, nil
}

// RevokeTenant implements [apikey.Store].
func (s *Store) RevokeTenant(context.Context) (int64, error) {
	done, err := s.begin("RevokeTenant")
	defer done()
	if err != nil {
		return 0, err
	}
	var count int64
	for i := range s.keys {
		if s.keys[i].Status == apikey.StatusActive {
			s.keys[i].Status = apikey.StatusRevoked
			count++
		}
	}
	return count, nil
}

// DeleteExpiredEphemeral implements [apikey.Store].
func (s *Store) DeleteExpiredEphemeral(context.Context) (int64, error) {
	done, err := s.begin("DeleteExpiredEphemeral")
	defer done()
	if err != nil {
		return 0, err
	}
	before := len(s.keys)
	s.keys = slices.DeleteFunc(s.keys, func(k apikey.NewKey) bool {
		return k.Ephemeral && !k.ExpiresAt.IsZero() && k.ExpiresAt.Add(graceOfEphemeral).Before(s.Clock.Now())
	})
	return int64(before - len(s.keys)), nil
}

// PurgeDue implements [apikey.Store].
func (s *Store) PurgeDue(context.Context) (int64, error) {
	done, err := s.begin("PurgeDue")
	defer done()
	if err != nil {
		return 0, err
	}
	count := s.Due
	s.Due = 0
	return count, nil
}

// Search implements [apikey.Store].
func (s *Store) Search(_ context.Context, q apikey.Query) ([]apikey.Key, error) {
	done, err := s.begin("Search", q.Username, q.Subscription, q.NameContains, q.DescriptionContains)
	defer done()
	if err != nil {
		return nil, err
	}
	var found []apikey.Key
	for _, k := range s.keys {
		if k := s.effective(k.Key); matches(q, k) && (q.After == nil || compare(q, placeOf(q, k), *q.After) > 0) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b apikey.Key) int { return compare(q, placeOf(q, a), placeOf(q, b)) })
	found = found[min(q.Offset, len(found)):]
	return found[:min(q.Limit, len(found))], nil
}

// placeOf is the place of a key in the order of a query.
func placeOf(q apikey.Query, k apikey.Key) apikey.Position {
	p := apikey.Position{ID: k.ID}
	switch q.SortBy {
	case apikey.SortName:
		p.Text = k.Name
	case apikey.SortExpiresAt:
		p.Time, p.Null = k.ExpiresAt, k.ExpiresAt.IsZero()
	case apikey.SortLastUsedAt:
		p.Time, p.Null = k.LastUsedAt, k.LastUsedAt.IsZero()
	default:
		p.Time = k.CreatedAt
	}
	return p
}

// compare orders two places. Those without a value come last in any direction.
func compare(q apikey.Query, a, b apikey.Position) int {
	if a.Null != b.Null {
		if a.Null {
			return 1
		}
		return -1
	}
	order := cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Text, b.Text), cmp.Compare(a.ID, b.ID))
	if q.Ascending {
		return order
	}
	return -order
}

func matches(q apikey.Query, k apikey.Key) bool {
	contains := func(text, part string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(part))
	}
	for name, value := range q.Labels {
		if got, has := k.Labels[name]; !has || got != value {
			return false
		}
	}
	return (q.Username == "" || k.Username == q.Username) &&
		(len(q.Statuses) == 0 || slices.Contains(q.Statuses, k.Status)) &&
		(q.Subscription == "" || k.Subscription == q.Subscription) &&
		(q.IncludeEphemeral || !k.Ephemeral) &&
		contains(k.Name, q.NameContains) && contains(k.Description, q.DescriptionContains) &&
		matchesTimes(q, k)
}

func matchesTimes(q apikey.Query, k apikey.Key) bool {
	after := func(t, bound time.Time) bool { return bound.IsZero() || !t.IsZero() && t.After(bound) }
	before := func(t, bound time.Time) bool { return bound.IsZero() || !t.IsZero() && t.Before(bound) }
	has := func(t time.Time, want *bool) bool { return want == nil || *want == !t.IsZero() }
	return after(k.CreatedAt, q.CreatedAfter) && before(k.CreatedAt, q.CreatedBefore) &&
		after(k.ExpiresAt, q.ExpiresAfter) && before(k.ExpiresAt, q.ExpiresBefore) &&
		after(k.LastUsedAt, q.LastUsedAfter) && has(k.ExpiresAt, q.HasExpiration) && has(k.LastUsedAt, q.HasBeenUsed)
}

// IDs returns the ids of keys, in their order.
func IDs(keys []apikey.Key) []string {
	ids := make([]string, 0, len(keys))
	for i := range keys {
		ids = append(ids, keys[i].ID)
	}
	return ids
}

// Recorder is an [apikey.Auditor] that keeps what it is told.
type Recorder struct {
	mu     sync.Mutex
	events []apikey.AuditEvent
}

// Audit implements [apikey.Auditor].
func (r *Recorder) Audit(_ context.Context, e apikey.AuditEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns what was recorded, in its order.
func (r *Recorder) Events() []apikey.AuditEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
