// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Defaults of [Options].
const (
	// DefaultMaxEntries is the default bound of the index. One entry takes about
	// 350 bytes, so that a full index takes about 90 MB.
	DefaultMaxEntries = 250_000
	// DefaultStaleAfter is how long a confirmed record is trusted by default.
	DefaultStaleAfter = 2 * time.Second
	// DefaultGrace is how long known keys outlive the database by default.
	DefaultGrace = 30 * time.Second
	// DefaultPollInterval is how often the database is asked for changes.
	DefaultPollInterval = time.Second

	defaultPollTimeout     = time.Second
	defaultLookupTimeout   = 150 * time.Millisecond
	defaultMissRate        = 500
	defaultMissConcurrency = 8
)

// Options are the settings of an [Index]. What is zero takes its default, but
// for Feed, Clock, Log and Registerer, which must be set.
type Options struct {
	Feed       Feed
	Clock      clock.WithTicker
	Log        *slog.Logger
	Registerer prometheus.Registerer

	// MaxEntries bounds the number of keys held. Up to it all active keys are
	// held; above it those used most recently, and the database is asked for the
	// others.
	MaxEntries int
	// StaleAfter is how long a record is trusted after the database confirmed it:
	// the time within which a revocation takes effect everywhere.
	StaleAfter time.Duration
	// Grace is for how long a key that was good when the database last confirmed
	// it, in a poll or in a look-up of that key, remains so while the database does
	// not answer. The state of the index goes by polls alone. Negative: not at all.
	Grace time.Duration
	// PollInterval is the time between two polls for changes when nothing was
	// notified. It must be shorter than StaleAfter.
	PollInterval time.Duration
	// PollTimeout is how long a poll may go without an answer, and a load of all
	// keys without another row.
	PollTimeout time.Duration
	// LookupTimeout is how long the database may take to answer for one key.
	LookupTimeout time.Duration
	// MissRate is how many keys that are not held are looked up per second at
	// most; as many may come at once.
	MissRate int
	// MissConcurrency is how many of them are looked up at the same time. As many
	// connections again are used at most for keys that are held but not fresh.
	MissConcurrency int
}

// withDefaults fills what is zero, or says what is wrong.
func (o Options) withDefaults() (Options, error) {
	if o.Feed == nil || o.Clock == nil || o.Log == nil || o.Registerer == nil {
		return o, errors.New("check options: feed, clock, log and registerer must be set")
	}
	o.MaxEntries = cmp.Or(o.MaxEntries, DefaultMaxEntries)
	o.StaleAfter = cmp.Or(o.StaleAfter, DefaultStaleAfter)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.PollInterval = cmp.Or(o.PollInterval, DefaultPollInterval)
	o.PollTimeout = cmp.Or(o.PollTimeout, defaultPollTimeout)
	o.LookupTimeout = cmp.Or(o.LookupTimeout, defaultLookupTimeout)
	o.MissRate = cmp.Or(o.MissRate, defaultMissRate)
	o.MissConcurrency = cmp.Or(o.MissConcurrency, defaultMissConcurrency)
	if o.PollInterval >= o.StaleAfter {
		return o, errors.New("check options: the poll interval must be shorter than the time after which records are stale")
	}
	if o.MaxEntries < 0 || o.MissRate < 0 || o.MissConcurrency < 0 {
		return o, errors.New("check options: bounds must be positive")
	}
	return o, nil
}
