// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import "time"

// Status is what has become of a key.
type Status string

// The states of a key. Only an active one can become another.
const (
	StatusActive  Status = "active"
	StatusRevoked Status = "revoked"
	StatusExpired Status = "expired"
)

// Reason says why a key is not accepted. The texts are part of the contract of
// the validation callback.
type Reason string

// Reasons of refusals.
const (
	ReasonFormat           Reason = "invalid key format"
	ReasonNotFound         Reason = "key not found"
	ReasonRevokedOrExpired Reason = "key revoked or expired"
	ReasonNoSubscription   Reason = "key has no subscription bound"
)

// Record is what validation needs of a key. It is immutable and shared: nobody
// modifies it.
type Record struct {
	ID, Username, Name, Subscription string
	Groups                           []string
	// Status is as stored: an active key may be past its expiry.
	Status Status
	// ExpiresAt is zero when the key never expires.
	ExpiresAt time.Time
}

// Refusal says why the key is not accepted now, or is empty. A key that has
// ended says so before anything else is told about it.
func (r *Record) Refusal(now time.Time) Reason {
	switch {
	case r.Status != StatusActive, expired(r.ExpiresAt, now):
		return ReasonRevokedOrExpired
	case r.Subscription == "":
		return ReasonNoSubscription
	default:
		return ""
	}
}

// expired tells whether a key has ended by itself: it does so at the moment of
// its expiry.
func expired(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Key is all that is known of a key, but for its digest.
type Key struct {
	ID, Username, Name, Description, Subscription, Tenant string
	// Groups are the owner's when the key was made, in their order.
	Groups []string
	Labels map[string]string
	// Status is the effective one: it is found out when the key is read, so that
	// an active key past its expiry is expired.
	Status Status
	// ExpiresAt and LastUsedAt are zero for never.
	CreatedAt, ExpiresAt, LastUsedAt time.Time
	// Ephemeral keys live an hour at most and are deleted afterwards.
	Ephemeral bool
}

// NewKey is a key to be stored.
type NewKey struct {
	Key

	Digest Digest
}
