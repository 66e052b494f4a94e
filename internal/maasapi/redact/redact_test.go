// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"regexp"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/redact"
)

func TestName(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	r := redact.New(key)
	if got := r.Name(""); got != "<empty>" {
		t.Errorf("the empty name is %q", got)
	}
	got := r.Name("ann")
	if !regexp.MustCompile(`^sha256:[A-Za-z0-9_-]{12}$`).MatchString(got) {
		t.Errorf("mark is %q", got)
	}
	if got != redact.New(key).Name("ann") {
		t.Error("one name has two marks under one key")
	}
	if got == r.Name("bob") || got == redact.New([]byte("another key")).Name("ann") {
		t.Error("another name or another key gives the same mark")
	}
}

func TestKeyIsCopied(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	r := redact.New(key)
	before := r.Name("ann")
	clear(key)
	if r.Name("ann") != before {
		t.Error("the key of the caller is still used")
	}
}
