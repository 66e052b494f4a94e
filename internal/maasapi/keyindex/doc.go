// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keyindex holds the API keys of one tenant in memory, so that a key is
// validated without asking the database, and sees to it that what is held is
// what the database says.
//
// A record is trusted for as long as the database confirmed it a short time ago
// ([Options.StaleAfter]), be it in a poll for changes or in a look-up of that
// key. When it did not, it is asked; when it does not answer either, keys that
// were good the last time it did remain so for a while ([Options.Grace]), and
// then nobody is let in.
//
// The package knows digests of keys only, never their texts. It knows nothing of
// SQL: a [Feed] reads the database. It does not judge records; the caller asks
// [apikey.Record.Refusal] with [Index.Now].
package keyindex
