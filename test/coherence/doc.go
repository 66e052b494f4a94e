// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coherence shows, with several replicas of maas-api's own program on one
// PostgreSQL, that under load they agree about API keys: for how long a revoked key
// is still accepted somewhere, what becomes of good keys while the database is
// gone, and which uses of keys are lost when a replica ends. It measures by what
// the replicas answer, never by what they say about themselves.
package coherence
