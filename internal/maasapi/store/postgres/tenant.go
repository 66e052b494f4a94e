// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

const (
	addTenant  = `INSERT INTO tenants (name, uid) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
	lockTenant = `SELECT uid FROM tenants WHERE name = $1 FOR UPDATE`
	knowTenant = `SELECT EXISTS (SELECT FROM tenant_predecessors WHERE tenant = $1 AND uid = $2)`
	moveTenant = `
WITH replaced AS (UPDATE tenants SET uid = $2, registered_at = now() WHERE name = $1)
INSERT INTO tenant_predecessors (tenant, uid) VALUES ($1, $3) ON CONFLICT DO NOTHING`
	addPredecessor = `INSERT INTO tenant_predecessors (tenant, uid) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	endTenant      = `
UPDATE api_keys SET status = 'revoked', invalidated_at = now(), invalidation_reason = $2,
       purge_after = now() + make_interval(secs => $3)
WHERE tenant = $1 AND status = 'active'`
)

// Replaced tells whether the tenant of this process has ended: it was deleted, or
// another one has its name. Without a UID nobody can tell, and it has not.
func (s *Store) Replaced(ctx context.Context) (replaced bool, err error) {
	if s.opts.TenantUID == noTenant {
		return false, nil
	}
	err = s.run(ctx, s.kinds.urgent("look for tenant"), func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, knowTenant, s.opts.Tenant, s.opts.TenantUID).Scan(&replaced)
	})
	return replaced, err
}

// noTenant is the UID of a name whose tenant was deleted.
const noTenant = ""

// Why keys ended with their tenant, as it is stored.
const (
	reasonReplaced = "tenant replaced"
	reasonDeleted  = "tenant deleted"
)

// Register makes the tenant's UID known. If the tenant had another one, it was
// deleted and made again: keys of the former one end in the same transaction, and
// processes of the former one can add none any more. The first registration of a
// tenant keeps what there is. A process of a former one gets
// [apikey.ErrTenantReplaced]. Without a UID nothing happens.
func (s *Store) Register(ctx context.Context) error {
	if s.opts.TenantUID == "" {
		return nil
	}
	var ended int64
	err := s.run(ctx, s.kinds.long("register tenant"), func(ctx context.Context, conn *pgx.Conn) error {
		return transact(ctx, conn, s.begin.long, func(tx pgx.Tx) (err error) {
			ended, err = s.register(ctx, tx)
			return err
		})
	})
	if ended > 0 && err == nil {
		s.opts.Log.InfoContext(ctx, "Revoked the keys of an earlier tenant of the same name", "tenant", s.opts.Tenant, "keys", ended)
	}
	return err
}

func (s *Store) register(ctx context.Context, tx pgx.Tx) (ended int64, err error) {
	name, uid := s.opts.Tenant, s.opts.TenantUID
	if _, err := tx.Exec(ctx, addTenant, name, uid); err != nil {
		return 0, err
	}
	var before string
	if err := tx.QueryRow(ctx, lockTenant, name).Scan(&before); err != nil || before == uid {
		return 0, err
	}
	var predecessor bool
	if err := tx.QueryRow(ctx, knowTenant, name, uid).Scan(&predecessor); err != nil {
		return 0, err
	}
	if predecessor {
		return 0, apikey.ErrTenantReplaced
	}
	if _, err := tx.Exec(ctx, moveTenant, name, uid, before); err != nil {
		return 0, err
	}
	return s.endKeys(ctx, tx, reasonReplaced)
}

// RevokeTenant implements [apikey.Store]. With a UID it also ends the tenant: no
// process of it can add a key any more, nor start again. The keys of a tenant that
// was replaced have ended before: those of its successor stay.
func (s *Store) RevokeTenant(ctx context.Context) (int64, error) {
	var ended int64
	err := s.run(ctx, s.kinds.long("revoke tenant"), func(ctx context.Context, conn *pgx.Conn) error {
		return transact(ctx, conn, s.begin.long, func(tx pgx.Tx) (err error) {
			if former, err := s.endTenant(ctx, tx); err != nil || former {
				return err
			}
			ended, err = s.endKeys(ctx, tx, reasonDeleted)
			return err
		})
	})
	return ended, err
}

// endTenant makes the UID of this process that of a former tenant, and tells
// whether it was one before. Only one tenant of a name exists at a time: a UID that
// nobody has seen yet is that of the present one, whoever came before.
func (s *Store) endTenant(ctx context.Context, tx pgx.Tx) (former bool, err error) {
	name, uid := s.opts.Tenant, s.opts.TenantUID
	if uid == noTenant {
		return false, nil
	}
	if _, err := tx.Exec(ctx, addTenant, name, uid); err != nil {
		return false, err
	}
	var current string
	if err := tx.QueryRow(ctx, lockTenant, name).Scan(&current); err != nil {
		return false, err
	}
	if err := tx.QueryRow(ctx, knowTenant, name, uid).Scan(&former); err != nil || former {
		return former, err
	}
	if _, err := tx.Exec(ctx, addPredecessor, name, uid); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, moveTenant, name, noTenant, current)
	return false, err
}

// endKeys revokes all keys of the tenant that are stored as active, and says when
// they may be purged.
func (s *Store) endKeys(ctx context.Context, tx pgx.Tx, reason string) (int64, error) {
	tag, err := tx.Exec(ctx, endTenant, s.opts.Tenant, reason, s.opts.Retention.Seconds())
	return tag.RowsAffected(), err
}
