// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keyring makes API keys in numbers: their texts follow from their
// numbers, so that a million of them need no memory, and their rows are copied
// into the database of maas-api behind its back. It owns what such a row holds; it
// must not know what a suite does with it.
package keyring

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// Ring is a set of keys with what all of them have in common.
type Ring struct {
	// Name tells the keys of rings apart: letters and digits. Required.
	Name string
	// Tenant and Subscription are whose the keys are, and what they are charged to.
	Tenant, Subscription string
	// Groups are those of every owner.
	Groups []string
	// Owners is the number of users that own the keys in turn; 0 means one.
	Owners int
	// Life is how long the keys live from when they are stored; 0 means for ever.
	Life time.Duration
}

// Text is what a client sends. No two numbers have the same.
func (r Ring) Text(i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", r.Name, i))
	const id, secret = 16, 43 // Characters, as many as keys have that are generated.
	digits := hex.EncodeToString(sum[:])
	return apikey.Prefix + digits[:id] + "_" + digits[id:][:secret]
}

// ID is the id of a key's row.
func (r Ring) ID(i int) string { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(r.Text(i))).String() }

// Owner is the user who owns a key.
func (r Ring) Owner(i int) string { return fmt.Sprintf("%s-%d", r.Name, i%max(r.Owners, 1)) }

// Store copies the keys from first on into a database that has been migrated, in
// one transaction.
func (r Ring) Store(ctx context.Context, database string, first, count int) (err error) {
	if r.Name == "" {
		return errors.New("store keys: their ring has no name")
	}
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return fmt.Errorf("store keys: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var now time.Time
	if err := conn.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return fmt.Errorf("store keys: %w", err)
	}
	var expires *time.Time
	if r.Life > 0 {
		expires = new(now.Add(r.Life))
	}
	columns := []string{
		"id", "username", "name", "description", "key_hash", "status", "user_groups", "created_at", "expires_at", "ephemeral", "subscription", "tenant",
	}
	groups := append([]string{"system:authenticated"}, r.Groups...)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"api_keys"}, columns, pgx.CopyFromSlice(count, func(n int) ([]any, error) {
		i := first + n
		digest, err := apikey.Parse(r.Text(i))
		if err != nil {
			return nil, err
		}
		return []any{
			r.ID(i), r.Owner(i), fmt.Sprintf("%s %d", r.Name, i), "", digest.String(), "active", groups, now, expires, false, r.Subscription, r.Tenant,
		}, nil
	}))
	if err != nil {
		return fmt.Errorf("store keys: %w", err)
	}
	return nil
}
