// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgres runs a real PostgreSQL server, and PgBouncer in front of it,
// for tests and for the development stack. It owns their data directories,
// passwords, ports and processes; the programs come from hack/postgres.sh. It
// must not know what is stored in a database.
//
// Servers listen on the loopback interface only and end with the process that
// started them. Started by root, they run as an unprivileged user, which
// PostgreSQL insists on. It runs on Linux.
package postgres
