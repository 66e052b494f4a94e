// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Defaults of [Options] and [MigrateOptions].
const (
	DefaultMaxConns         = 25
	DefaultConnMaxLifetime  = 5 * time.Minute
	DefaultStatementTimeout = 5 * time.Second
	DefaultAcquireTimeout   = 100 * time.Millisecond
	DefaultStartTimeout     = time.Minute
	DefaultMigrateTimeout   = 15 * time.Minute
	DefaultRetention        = 90 * 24 * time.Hour
	// DefaultApplicationName is how connections are listed by the server.
	DefaultApplicationName = "maas-api"
)

// Options are the settings of a [Store]. URL, Tenant, Clock, Log and Registerer
// must be set; what else is zero takes its default.
type Options struct {
	// URL says where the database is and who connects to it. It is never logged.
	URL string
	// Tenant is whose keys the store keeps.
	Tenant string
	// TenantUID tells the tenant from an earlier one of the same name. When empty,
	// [Store.Register] does nothing.
	TenantUID string
	// Retention is how long keys are kept that ended with their tenant.
	Retention time.Duration

	// MaxConns bounds the connections of the pool. Some of them are kept for
	// look-ups and polls. All stay open until ConnMaxLifetime, whether used or not;
	// MinConns of them are opened at once. Beside the pool, Listen has a connection.
	MaxConns, MinConns int32
	ConnMaxLifetime    time.Duration
	// StatementTimeout bounds one statement. Those that change many rows may take
	// longer.
	StatementTimeout time.Duration
	// AcquireTimeout is how long a look-up may wait for a free connection. What is
	// less urgent may wait longer.
	AcquireTimeout time.Duration
	// StartTimeout is how long [Open] waits for the database.
	StartTimeout    time.Duration
	ApplicationName string

	Log        *slog.Logger
	Clock      clock.Clock
	Registerer prometheus.Registerer

	// echoEvery is the longest silence on the listening connection, echoTimeout the
	// longest wait for what it says to itself. Only tests change them.
	echoEvery, echoTimeout time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.URL == "" || o.Tenant == "" || o.Log == nil || o.Clock == nil || o.Registerer == nil {
		return o, errors.New("check options of the database: URL, tenant, clock, log and registerer must be set")
	}
	o.Retention = cmp.Or(o.Retention, DefaultRetention)
	o.MaxConns = cmp.Or(o.MaxConns, DefaultMaxConns)
	o.ConnMaxLifetime = cmp.Or(o.ConnMaxLifetime, DefaultConnMaxLifetime)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, DefaultStatementTimeout)
	o.AcquireTimeout = cmp.Or(o.AcquireTimeout, DefaultAcquireTimeout)
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.ApplicationName = cmp.Or(o.ApplicationName, DefaultApplicationName)
	o.echoEvery = cmp.Or(o.echoEvery, defaultEchoEvery)
	o.echoTimeout = cmp.Or(o.echoTimeout, defaultEchoTimeout)
	o.MinConns = min(o.MinConns, o.MaxConns)
	if o.MaxConns < 2 || o.MinConns < 0 {
		return o, errors.New("check options of the database: there must be at least 2 connections, and no negative number kept open")
	}
	for _, d := range []time.Duration{o.Retention, o.ConnMaxLifetime, o.StatementTimeout, o.AcquireTimeout, o.StartTimeout} {
		if d < time.Millisecond || d/time.Millisecond > math.MaxInt32 && d != o.Retention {
			return o, errors.New("check options of the database: times must be positive, and shorter than 24 days where they are no retention")
		}
	}
	return o, nil
}

// MigrateOptions are the settings of [Migrate]. URL, Clock and Log must be set;
// what else is zero takes its default.
type MigrateOptions struct {
	URL string
	// StartTimeout is how long to wait for the database to answer, Timeout how long
	// all of it may take: waiting for another process that migrates, and for others'
	// transactions to end, included.
	StartTimeout, Timeout time.Duration
	ApplicationName       string

	Log   *slog.Logger
	Clock clock.Clock
}

func (o MigrateOptions) withDefaults() (MigrateOptions, error) {
	if o.URL == "" || o.Log == nil || o.Clock == nil {
		return o, errors.New("check options of the migration: URL, clock and log must be set")
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.Timeout = cmp.Or(o.Timeout, DefaultMigrateTimeout)
	o.ApplicationName = cmp.Or(o.ApplicationName, DefaultApplicationName)
	return o, nil
}
