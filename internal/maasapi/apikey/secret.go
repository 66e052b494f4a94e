// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
)

const (
	// idBytes and secretBytes are how much randomness the parts of a key hold.
	idBytes     = 12
	secretBytes = 32
	// displayedID is how much of the id the display prefix shows.
	displayedID = 12

	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base     = uint16(len(alphabet))
)

// Secret is a new key. Only [Secret.Plaintext] gives its text away: however else
// it is printed, logged or encoded, it shows its display prefix. The zero Secret
// is no key.
type Secret struct {
	// parts is a function because nothing prints what one holds, not even as a
	// member of another struct. It is nil in the zero Secret.
	parts func() (id, secret string)
}

// Generate makes a key of 96 bits of id and 256 bits of secret, read from random.
func Generate(random io.Reader) (Secret, error) {
	var source [idBytes + secretBytes]byte
	if _, err := io.ReadFull(random, source[:]); err != nil {
		return Secret{}, fmt.Errorf("generate key: %w", err)
	}
	id, secret := base62(source[:idBytes]), base62(source[idBytes:])
	return Secret{func() (string, string) { return id, secret }}, nil
}

// Plaintext is the text that the client sends. It must be shown once and stored
// nowhere.
func (s Secret) Plaintext() string {
	if s.parts == nil {
		return ""
	}
	id, secret := s.parts()
	return Prefix + id + string(separator) + secret
}

// DisplayPrefix tells keys apart for people; it is no secret.
func (s Secret) DisplayPrefix() string {
	if s.parts == nil {
		return ""
	}
	id, _ := s.parts()
	return Prefix + id[:min(displayedID, len(id))] + "..."
}

// Digest is what is stored of the key.
func (s Secret) Digest() Digest {
	if s.parts == nil {
		return Digest{}
	}
	id, secret := s.parts()
	return digestOf(id+string(separator)+secret, len(id))
}

// String is the display prefix.
func (s Secret) String() string { return s.DisplayPrefix() }

// GoString is the display prefix.
func (s Secret) GoString() string { return s.DisplayPrefix() }

// LogValue implements [slog.LogValuer] with the display prefix.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.DisplayPrefix()) }

// MarshalJSON writes the display prefix.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.DisplayPrefix()) }

// base62 writes a big-endian unsigned integer, the most significant digit first
// and without padding.
func base62(number []byte) string {
	rest := slices.Clone(number)
	var digits []byte
	for len(rest) > 0 {
		remainder := uint16(0)
		for i, b := range rest {
			value := remainder<<8 | uint16(b)
			rest[i], remainder = byte(value/base), value%base //nolint:gosec // The remainder is below 62, so the quotient is below 256.
		}
		digits = append(digits, alphabet[remainder])
		for len(rest) > 0 && rest[0] == 0 {
			rest = rest[1:]
		}
	}
	slices.Reverse(digits)
	return string(digits)
}

func isBase62(text string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return text != ""
}
