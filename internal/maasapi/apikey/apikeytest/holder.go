// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikeytest

import (
	"context"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// Holder is an [apikey.Records] with the keys it was given.
type Holder struct {
	Clock clock.PassiveClock
	// Err, if not nil, is returned for every key.
	Err error

	records map[apikey.Digest]*apikey.Record
}

// Hold makes text a key of a user, bound to "free". It lives as long as said, or
// for good.
func (h *Holder) Hold(tb testing.TB, text, username string, life time.Duration) apikey.Digest {
	tb.Helper()
	digest, err := apikey.Parse(text)
	if err != nil {
		tb.Fatalf("Parse: %v", err)
	}
	record := &apikey.Record{ID: ID(text), Username: username, Name: "held", Subscription: "free", Status: apikey.StatusActive}
	if life != 0 {
		record.ExpiresAt = h.Clock.Now().Add(life)
	}
	if h.records == nil {
		h.records = map[apikey.Digest]*apikey.Record{}
	}
	h.records[digest] = record
	return digest
}

// Get implements [apikey.Records].
func (h *Holder) Get(_ context.Context, digest apikey.Digest) (*apikey.Record, error) {
	record, found := h.records[digest]
	switch {
	case h.Err != nil:
		return nil, h.Err
	case !found:
		return nil, apikey.ErrNotFound
	default:
		return record, nil
	}
}

// Now implements [apikey.Records].
func (h *Holder) Now() time.Time { return h.Clock.Now() }
