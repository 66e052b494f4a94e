// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
)

// noKeys is the feed of a database without keys, whose clock is ahead.
type noKeys struct {
	own   *clocktesting.FakeClock
	ahead time.Duration
}

func (f noKeys) position() keyindex.Position {
	return keyindex.Position{Xid: 1, Database: "one", Now: f.own.Now().Add(f.ahead)}
}

func (f noKeys) Load(context.Context, int, func(apikey.Digest, apikey.Record) error) (keyindex.Position, error) {
	return f.position(), nil
}

func (f noKeys) Changes(context.Context, keyindex.Position, func(keyindex.Change) error) (keyindex.Position, error) {
	return f.position(), nil
}

func (noKeys) Lookup(context.Context, apikey.Digest) (apikey.Record, error) {
	return apikey.Record{}, apikey.ErrNotFound
}

func (noKeys) Listen(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestKeysAreMadeByTheClockTheyAreValidatedBy(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"the database is ahead": time.Hour, "the database is behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := clocktesting.NewFakeClock(epoch)
			index, err := keyindex.New(keyindex.Options{
				Feed: noKeys{own, ahead}, Clock: own, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
			})
			if err != nil {
				t.Fatal(err)
			}
			world := apikeytest.NewWorld(t, func(o *apikey.Options) { o.Clock = validationClock{index} })
			made := func() apikey.Key {
				t.Helper()
				created, err := world.Create(t.Context(), apikeytest.Member("alice"), apikey.CreateRequest{Name: "k", ExpiresIn: []byte(`"30m"`)})
				if err != nil {
					t.Fatal(err)
				}
				return created.Key
			}
			if got := made().CreatedAt; !got.Equal(epoch) {
				t.Errorf("before the database told its time, a key was made at %s", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- index.Run(ctx) }()
			until(t, func() bool { return index.State() == keyindex.StateFresh })
			k := made()
			if got := k.CreatedAt.Sub(epoch); got != ahead {
				t.Errorf("the key was made %s after the process began, want %s", got, ahead)
			}
			record := apikey.Record{Subscription: k.Subscription, Status: k.Status, ExpiresAt: k.ExpiresAt}
			if got := record.Refusal(index.Now()); got != "" {
				t.Errorf("a new key is refused: %s", got)
			}
			if got := record.Refusal(index.Now().Add(30 * time.Minute)); got == "" {
				t.Error("the key lives longer than was asked for")
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
