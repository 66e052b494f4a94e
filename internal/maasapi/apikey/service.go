// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// Subscriptions decides which subscription a new key is bound to.
type Subscriptions interface {
	// Mint refuses with an [entitlement.Refusal]. Any other error means that
	// nothing can be decided yet.
	Mint(c entitlement.Caller, requested string) (*v1alpha1.MaaSSubscription, error)
}

// Admins tells who administers the tenant.
type Admins interface {
	// IsAdmin returns an error when the question could not be answered.
	IsAdmin(ctx context.Context, c entitlement.Caller) (bool, error)
}

// Actor is who asks for something to be done with keys.
type Actor struct {
	// Username is never blank.
	Username string
	// Groups may be empty: somebody is an owner by name.
	Groups []string
	// Key tells that the credential is an API key, which has Digest and is bound to
	// Subscription.
	Key          bool
	Digest       Digest
	Subscription string
}

// caller is the actor as decisions about subscriptions know it.
func (a Actor) caller() (entitlement.Caller, error) {
	if a.Key {
		return entitlement.FromKey(a.Username, a.Groups, a.Subscription)
	}
	return entitlement.FromToken(a.Username, a.Groups)
}

// Options is what a [Service] is made of.
type Options struct {
	Store Store
	// Subscriptions and Admins may be nil in a process that only serves jobs: then
	// no key can be made, and nobody is an administrator.
	Subscriptions Subscriptions
	Admins        Admins
	// Records finds the keys that callers come with. Without it no key can be made
	// with a key.
	Records Records
	Auditor Auditor
	// Clock gives the times that are stored with new keys. It should agree with
	// the clock that keys are validated by.
	Clock clock.PassiveClock
	// Random is the source of keys and ids; it must be unpredictable.
	Random io.Reader
	// Tenant is the one whose keys are served.
	Tenant string
	// MaxExpirationDays is from 1 to [MaxExpirationDays].
	MaxExpirationDays int
	// MaxKeysPerUser bounds the active keys of one user: what a program gone
	// wrong, or a stolen credential, can make. 0 means no bound.
	MaxKeysPerUser int
	// Revoked, if not nil, is called after keys may have been revoked, so that
	// caches of this process follow at once. It may wait for them, for a few seconds
	// at most.
	Revoked func()
	// Registerer receives the metrics; nil means that nobody looks at them.
	Registerer prometheus.Registerer
	// Log receives the causes of failures.
	Log *slog.Logger
}

// Service makes, shows and ends the keys of one tenant. It is safe for
// concurrent use. Its errors are of type [*Error].
type Service struct {
	store          Store
	subscriptions  Subscriptions
	admins         Admins
	records        Records
	auditor        Auditor
	clock          clock.PassiveClock
	random         io.Reader
	tenant         string
	limits         Limits
	maxKeysPerUser int64
	revoked        func()
	metrics        *metrics
	log            *slog.Logger
}

// NewService returns a service, or says which option is wrong.
func NewService(o Options) (*Service, error) {
	switch {
	case o.Store == nil || o.Auditor == nil || o.Clock == nil || o.Random == nil || o.Log == nil:
		return nil, errors.New("make API key service: store, auditor, clock, random source and log are required")
	case o.Tenant == "":
		return nil, errors.New("make API key service: tenant is required")
	case o.MaxExpirationDays < 1 || o.MaxExpirationDays > MaxExpirationDays:
		return nil, fmt.Errorf("make API key service: the maximum expiration must be from 1 to %d days", MaxExpirationDays)
	case o.MaxKeysPerUser < 0:
		return nil, errors.New("make API key service: the number of keys per user must not be negative")
	}
	m, err := newMetrics(o.Tenant, o.Registerer)
	if err != nil {
		return nil, err
	}
	if o.Revoked == nil {
		o.Revoked = func() {}
	}
	return &Service{
		store: o.Store, subscriptions: o.Subscriptions, admins: o.Admins, records: o.Records, auditor: o.Auditor,
		clock: o.Clock, random: o.Random, tenant: o.Tenant,
		limits:         Limits{MaxExpirationDays: o.MaxExpirationDays, EphemeralMaximum: EphemeralMaximum},
		maxKeysPerUser: int64(o.MaxKeysPerUser), revoked: o.Revoked, metrics: m, log: o.Log,
	}, nil
}

// Limits are the bounds of the life of new keys.
func (s *Service) Limits() Limits { return s.limits }

// checkActor refuses an identity that no key can belong to.
func checkActor(a Actor) error {
	if a.Username == "" || !storable(a.Username) {
		return invalid("The name of the caller is no valid UTF-8 text")
	}
	if utf8.RuneCountInString(a.Username) > maxFilter {
		return invalid("The name of the caller cannot exceed " + strconv.Itoa(maxFilter) + " characters")
	}
	return nil
}

// isAdmin tells whether the actor administers the tenant. An error never makes
// an administrator.
func (s *Service) isAdmin(ctx context.Context, a Actor) (bool, error) {
	if s.admins == nil {
		return false, nil
	}
	c, err := entitlement.FromToken(a.Username, a.Groups)
	if err != nil {
		return false, nil //nolint:nilerr // Nobody is no administrator.
	}
	admin, err := s.admins.IsAdmin(ctx, c)
	if err != nil {
		return false, s.failed(ctx, "Failed to check authorization", err)
	}
	return admin, nil
}

// failed logs the cause of a failure, which the caller is not told.
func (s *Service) failed(ctx context.Context, message string, cause error) error {
	s.log.LogAttrs(ctx, slog.LevelError, message, slog.String("error", cause.Error()))
	return failure(message, cause)
}

// audit records an attempt that ended with err.
func (s *Service) audit(ctx context.Context, e AuditEvent, err error) {
	e.Tenant, e.Result = s.tenant, resultOf(err)
	s.auditor.Audit(ctx, e)
}

func resultOf(err error) Result {
	var e *Error
	switch {
	case err == nil:
		return ResultSuccess
	case errors.Is(err, errForeign):
		return ResultDenied
	case !errors.As(err, &e) || e.Kind == KindInternal || e.Kind == KindUnavailable:
		return ResultFailed
	case e.Kind == KindNotFound:
		return ResultNotFound
	default:
		return ResultDenied
	}
}

// loggable returns an id that a client sent when it looks like one of ours.
// Anything else might be a secret in the wrong place.
func loggable(id string) string {
	if uuid.Validate(id) != nil {
		return "<invalid>"
	}
	return id
}
