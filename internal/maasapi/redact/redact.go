// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact replaces names of users, groups and the like in logs by short
// keyed hashes: equal names give equal marks, and nobody without the key can
// test a guess. It owns the form of the mark; it must not log, read the
// environment or make keys.
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

const (
	// Empty stands for the empty value.
	Empty = "<empty>"

	prefix = "sha256:"
	length = 12
)

// Redactor hashes names with one key. It is safe for concurrent use; its zero
// value must not be used.
type Redactor struct {
	key []byte
}

// New returns a Redactor for a key of at least 32 random bytes. Marks of two
// processes can be compared only when both were given the same key.
func New(key []byte) *Redactor {
	return &Redactor{key: append([]byte(nil), key...)}
}

// Name returns "sha256:" and the first 12 characters of the base64url form of
// HMAC-SHA-256(key, value), or [Empty] for the empty value.
func (r *Redactor) Name(value string) string {
	if value == "" {
		return Empty
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(value))
	return prefix + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:length]
}
