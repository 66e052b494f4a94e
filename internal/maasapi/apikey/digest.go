// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Prefix starts the text of every key.
const Prefix = "sk-oai-"

// MaxTextLength is the length, in bytes, of the longest text that [Parse] looks
// at. The keys that are generated have about 67.
const MaxTextLength = 512

// separator ends the id of a key.
const separator = '_'

// ErrFormat is returned for a text that cannot be a key.
var ErrFormat = errors.New("invalid key format")

// Digest identifies a key: the SHA-256 of its id, a NUL byte and its secret. It
// is what is stored; the text of the key cannot be had from it.
type Digest [sha256.Size]byte

// Parse returns the digest of a key, or [ErrFormat]. It does not allocate, and
// does not look at more than [MaxTextLength] bytes.
func Parse(text string) (Digest, error) {
	rest, found := strings.CutPrefix(text, Prefix)
	if !found || len(text) > MaxTextLength {
		return Digest{}, ErrFormat
	}
	at := strings.IndexByte(rest, separator)
	if at <= 0 || at == len(rest)-1 || !isBase62(rest[:at]) || !isBase62(rest[at+1:]) {
		return Digest{}, ErrFormat
	}
	return digestOf(rest, at), nil
}

// digestOf hashes a key without its prefix. The separator is where the NUL byte
// goes.
func digestOf(rest string, at int) Digest {
	var buffer [MaxTextLength]byte
	n := copy(buffer[:], rest)
	buffer[at] = 0
	return sha256.Sum256(buffer[:n])
}

// ParseDigest reads a digest as [Digest.String] writes it.
func ParseDigest(text string) (Digest, error) {
	var d Digest
	if len(text) != hex.EncodedLen(len(d)) || strings.ToLower(text) != text {
		return Digest{}, errors.New("parse digest: not 64 lower-case hexadecimal digits")
	}
	if _, err := hex.Decode(d[:], []byte(text)); err != nil {
		return Digest{}, errors.New("parse digest: not 64 lower-case hexadecimal digits")
	}
	return d, nil
}

// String is the digest in 64 lower-case hexadecimal digits, as it is stored.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
