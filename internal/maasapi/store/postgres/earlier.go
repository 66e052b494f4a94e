// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// earlierVersion is the version of the earlier implementation's schema that this
// one contains.
const earlierVersion = 6

var (
	// ErrUnfinished is returned by [Migrate] for a database in which a migration of
	// the earlier implementation did not end.
	ErrUnfinished = errors.New("a migration of the earlier service did not end")
	// ErrNewer is returned by [Migrate] for a database that the earlier
	// implementation brought to a version which this program does not know.
	ErrNewer = errors.New("the schema belongs to a newer release of the earlier service")
)

const (
	hasEarlier = "SELECT to_regclass('schema_migrations') IS NOT NULL"
	getEarlier = "SELECT version, dirty FROM schema_migrations ORDER BY version DESC LIMIT 1"
)

// checkEarlier refuses databases in a state that nobody has planned for.
func (m *migration) checkEarlier(ctx context.Context) error {
	var exists bool
	if err := m.db.QueryRowContext(ctx, hasEarlier).Scan(&exists); err != nil || !exists {
		return err
	}
	var (
		version int64
		dirty   bool
	)
	err := m.db.QueryRowContext(ctx, getEarlier).Scan(&version, &dirty)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	case dirty:
		return fmt.Errorf("%w: table schema_migrations says that version %d is dirty; bring table api_keys to the state of a version, "+
			"set version to its number and dirty to false there, and start again", ErrUnfinished, version)
	case version > earlierVersion:
		return fmt.Errorf("%w: table schema_migrations has version %d, and this program knows %d at most; use a release that knows it",
			ErrNewer, version, earlierVersion)
	default:
		return nil
	}
}
