// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyring

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

func TestKeysOfDifferentNumbersAndRingsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range []Ring{{Name: "a"}, {Name: "b"}} {
		for i := range 100 {
			seen[r.Text(i)], seen[r.ID(i)] = true, true
		}
	}
	if len(seen) != 400 {
		t.Errorf("200 keys have %d different texts and ids, want 400", len(seen))
	}
}

func TestKeysLookLikeThoseThatAreGenerated(t *testing.T) {
	t.Parallel()
	r := Ring{Name: "a"}
	generated, err := apikey.Generate(strings.NewReader(strings.Repeat("x", 100)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(r.Text(0)), len(generated.Plaintext()); got < want-2 || got > want+2 {
		t.Errorf("a key has %d characters, want about %d", got, want)
	}
	if _, err := apikey.Parse(r.Text(7)); err != nil {
		t.Error(err)
	}
	if err := uuid.Validate(r.ID(7)); err != nil {
		t.Error(err)
	}
}

func TestOwnersTakeTurns(t *testing.T) {
	t.Parallel()
	r := Ring{Name: "a", Owners: 2}
	if r.Owner(0) != r.Owner(2) || r.Owner(0) == r.Owner(1) {
		t.Errorf("owners of the first keys are %s, %s and %s", r.Owner(0), r.Owner(1), r.Owner(2))
	}
}

func TestARingWithoutANameIsRefused(t *testing.T) {
	t.Parallel()
	if err := (Ring{}).Store(t.Context(), "postgres://localhost/none", 0, 1); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("Store() = %v, want it to say that there is no name", err)
	}
}
