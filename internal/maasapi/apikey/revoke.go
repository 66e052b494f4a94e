// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"errors"
	"strings"
)

// maxID bounds the ids that are looked up, in bytes.
const maxID = 253

const failedRetrieve = "Failed to retrieve API key"

// Get returns a key to its owner and to administrators of the tenant. For
// everybody else it does not exist.
func (s *Service) Get(ctx context.Context, a Actor, id string) (Key, error) {
	return s.accessible(ctx, a, id)
}

// accessible returns a key that the actor may see and revoke.
//
// Who asks for a key that is not there is checked like one who asks for the key
// of somebody else: neither the answer nor what happens when the check fails
// tells the two apart.
func (s *Service) accessible(ctx context.Context, a Actor, id string) (Key, error) {
	if id == "" || len(id) > maxID || !storable(id) {
		return Key{}, keyNotFound(nil)
	}
	k, err := s.store.Get(ctx, id)
	found := err == nil
	switch {
	case found && k.Username == a.Username:
		return k, nil
	case !found && !errors.Is(err, ErrNotFound):
		return Key{}, s.failed(ctx, failedRetrieve, err)
	}
	admin, err := s.isAdmin(ctx, a)
	switch {
	case err != nil:
		return Key{}, err
	case !found:
		return Key{}, keyNotFound(nil)
	case !admin:
		return Key{}, keyNotFound(errForeign)
	default:
		return k, nil
	}
}

// Revoke ends a key that is stored as active, for whom [Service.Get] shows it
// to, and returns it as it is then.
func (s *Service) Revoke(ctx context.Context, a Actor, id string) (Key, error) {
	k, err := s.revoke(ctx, a, id)
	event := AuditEvent{Action: ActionRevoke, Actor: a.Username, KeyID: loggable(id)}
	if err == nil {
		event.KeyID, event.Count = k.ID, 1
	}
	s.audit(ctx, event, err)
	return k, err
}

func (s *Service) revoke(ctx context.Context, a Actor, id string) (Key, error) {
	if _, err := s.accessible(ctx, a, id); err != nil {
		return Key{}, err
	}
	k, err := s.store.Revoke(ctx, id)
	s.revoked() // Even after an error: it may have been done.
	switch {
	case errors.Is(err, ErrNotFound):
		return Key{}, keyNotFound(nil)
	case err != nil:
		return Key{}, s.failed(ctx, "Failed to revoke API key", err)
	}
	s.metrics.revocations.WithLabelValues(string(ActionRevoke)).Inc()
	return k, nil
}

// BulkRevokeRequest says which keys to revoke. At least one of the first two
// must be given.
type BulkRevokeRequest struct {
	Username, Subscription string
	// DryRun counts and changes nothing.
	DryRun bool
}

// BulkRevoked is what [Service.BulkRevoke] did, or would do.
type BulkRevoked struct {
	// Scope is what was asked for, trimmed.
	Scope  Scope
	Count  int64
	DryRun bool
}

// BulkRevoke revokes the active keys of a user, of a subscription, or of a user
// in a subscription. Users may revoke all of their own; everything else is for
// administrators.
func (s *Service) BulkRevoke(ctx context.Context, a Actor, r BulkRevokeRequest) (BulkRevoked, error) {
	scope := Scope{Username: strings.TrimSpace(r.Username), Subscription: strings.TrimSpace(r.Subscription)}
	if scope.Empty() {
		return BulkRevoked{}, invalid("at least one of username or subscription is required")
	}
	done := BulkRevoked{Scope: scope, DryRun: r.DryRun}
	err := s.checkScope(ctx, a, scope)
	switch {
	case err != nil:
	case r.DryRun:
		if done.Count, err = s.store.CountActive(ctx, scope); err != nil {
			err = s.failed(ctx, "Failed to perform dry-run", err)
		}
	default:
		done.Count, err = s.store.RevokeActive(ctx, scope)
		s.revoked() // Even after an error: it may have been done.
		if err != nil {
			err = s.failed(ctx, "Failed to revoke API keys", err)
		}
		s.metrics.revocations.WithLabelValues(string(ActionBulkRevoke)).Add(float64(done.Count))
	}
	if !r.DryRun || resultOf(err) == ResultDenied {
		s.audit(ctx, AuditEvent{
			Action: ActionBulkRevoke, Actor: a.Username, TargetUser: scope.Username, TargetSubscription: scope.Subscription,
			Count: done.Count,
		}, err)
	}
	if err != nil {
		return BulkRevoked{}, err
	}
	return done, nil
}

// checkScope tells whether the actor may revoke, or count, the keys of a scope.
func (s *Service) checkScope(ctx context.Context, a Actor, scope Scope) error {
	if scope.Subscription != "" || scope.Username != a.Username {
		admin, err := s.isAdmin(ctx, a)
		if err != nil {
			return err
		}
		if !admin {
			return forbidden("Access denied: admin privileges required for this bulk revoke operation")
		}
	}
	if !storable(scope.Username) || !storable(scope.Subscription) {
		return invalid("username and subscription must be valid UTF-8 text without the character NUL")
	}
	return nil
}

// RevokeTenant revokes all keys of the service's tenant, when it is the one that
// is meant, and starts their retention. It may be repeated.
func (s *Service) RevokeTenant(ctx context.Context, tenant string) (int64, error) {
	tenant = strings.TrimSpace(tenant)
	if tenant == "" {
		return 0, invalid("tenant is required")
	}
	var count int64
	err := invalid("tenant mismatch")
	if tenant == s.tenant {
		count, err = s.store.RevokeTenant(ctx)
		s.revoked() // Even after an error: it may have been done.
		if err != nil {
			count, err = 0, s.failed(ctx, "Failed to revoke tenant API keys", err)
		}
		s.metrics.revocations.WithLabelValues(string(ActionTenantRevoke)).Add(float64(count))
	}
	s.audit(ctx, AuditEvent{Action: ActionTenantRevoke, Count: count}, err)
	return count, err
}

// CleanedUp is what [Service.Cleanup] deleted.
type CleanedUp struct {
	// Ephemeral keys that had expired a while ago.
	Ephemeral int64
	// Purged keys of deleted tenants whose retention is over.
	Purged int64
}

// Cleanup deletes what is due. When one of its two parts fails the other is done
// nevertheless.
func (s *Service) Cleanup(ctx context.Context) (CleanedUp, error) {
	var done CleanedUp
	var err, purgeErr error
	if done.Ephemeral, err = s.store.DeleteExpiredEphemeral(ctx); err != nil {
		err = s.failed(ctx, "Failed to cleanup expired ephemeral keys", err)
	}
	s.metrics.deletions.WithLabelValues(reasonEphemeral).Add(float64(done.Ephemeral))
	s.auditDeletion(ctx, ActionCleanup, done.Ephemeral, err)
	if done.Purged, purgeErr = s.store.PurgeDue(ctx); purgeErr != nil {
		purgeErr = s.failed(ctx, "Failed to purge keys of deleted tenants", purgeErr)
	}
	s.metrics.deletions.WithLabelValues(reasonRetention).Add(float64(done.Purged))
	s.auditDeletion(ctx, ActionPurge, done.Purged, purgeErr)
	if err == nil {
		err = purgeErr
	}
	return done, err
}

// auditDeletion records what a job deleted. One that found nothing changed
// nothing.
func (s *Service) auditDeletion(ctx context.Context, action Action, count int64, err error) {
	if count > 0 || err != nil {
		s.audit(ctx, AuditEvent{Action: action, Count: count}, err)
	}
}
