// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres keeps API keys in PostgreSQL. It is the only package that
// knows SQL. It owns the schema and its migrations, the connections, and the
// tracking of changes that lets the replicas of the service hold keys in memory.
// It must not decide anything about keys: it stores, finds and counts them.
//
// # Schema
//
// The table api_keys is the one that an earlier implementation of the service
// made, at its schema version 6; a database at any of its versions is taken
// over. Changes of the schema go one way, in steps that let the release before
// work on: expand (add what is nullable or has a default), migrate (fill it),
// contract (remove what nobody uses any more, a release later). The migrations
// that were applied are listed in maas_api_migrations; the earlier
// implementation's schema_migrations stays at 6, so that it can still start.
//
// Indexes are no migrations: they are compared with the plan at every start, and
// built without blocking writers. One left invalid by an interruption is built
// again.
//
// # Tracking of changes
//
// A row trigger writes the id of the transaction into every key that is added or
// changed in a column that validation reads, and sends one notification per
// transaction and tenant. A reader asks for what was written by transactions
// that its last snapshot did not contain, so that no order of commits hides a
// change from it. Deleted keys leave a tombstone for a day. Every position names
// the history it belongs to: another server, a promoted replica, a restart, a
// restored backup or a truncated table make a new one. The notification is a
// hint; nothing depends on its arrival. Noting that a key was used does neither.
//
// # Tenants
//
// The keys of all tenants share a table. Every statement names the tenant that
// its store was opened for, but for those that purge what is due.
//
// # Errors
//
// Errors repeat nothing that was sent to the database and nothing of its
// address: see [Error].
package postgres
