// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Records finds the key that a caller comes with, and tells the time it is
// judged by.
type Records interface {
	// Get returns [ErrNotFound] when there is no such key. Any other error means
	// that nobody can tell.
	Get(ctx context.Context, digest Digest) (*Record, error)
	Now() time.Time
}

// lifetime returns how long the new key of an actor lives. One that is made with
// a key never outlives it: otherwise whoever holds a key for an hour would have
// access for good.
func (s *Service) lifetime(ctx context.Context, a Actor, expiresIn json.RawMessage, ephemeral bool) (time.Duration, error) {
	d, given, err := s.limits.lifetime(expiresIn, ephemeral)
	if err != nil || !a.Key {
		return d, err
	}
	parent, err := s.parent(ctx, a)
	if err != nil || parent.ExpiresAt.IsZero() {
		return d, err
	}
	left := parent.ExpiresAt.Sub(s.clock.Now())
	switch {
	case left < shortest:
		return 0, errParent
	case d <= left:
		return d, nil
	case given:
		return 0, &Error{
			Kind: KindInvalid, Code: CodeOutlivesKey,
			Message: "The new key would outlive the API key it is made with: ask for a shorter expiresIn, or leave it out",
		}
	default:
		return left, nil
	}
}

var errParent = &Error{
	Kind: KindForbidden, Code: CodeInvalidKey,
	Message: "The API key of this request is not valid for its caller",
}

// bound tells whether the gateway passed on the subscription of the key itself. A
// key that came without one is refused later, for want of a subscription.
func bound(record *Record, a Actor) bool {
	name, err := entitlement.ParseName(a.Subscription)
	return err != nil || name.Name == record.Subscription
}

// parent is the key the actor comes with. The gateway has validated it; that it
// is the caller's own is checked here once more, because a key that is made
// lasts.
func (s *Service) parent(ctx context.Context, a Actor) (*Record, error) {
	if s.records == nil {
		return nil, notReady(nil)
	}
	record, err := s.records.Get(ctx, a.Digest)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, errParent
	case err != nil:
		_ = s.failed(ctx, failedCreate, err)
		return nil, notReady(err)
	case record.Refusal(s.records.Now()) != "" || record.Username != a.Username || !bound(record, a):
		return nil, errParent
	default:
		return record, nil
	}
}
