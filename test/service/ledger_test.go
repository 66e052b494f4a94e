// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLedgerFindsWhatWasUsed(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	lines := "starting\nuser alice-1234 did it\nconnecting to db with hunter2hunter2\nabc is too short to tell\n"
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var ledger Ledger
	ledger.Secret("alice-1234", "abc", "unseen-text", "postgres://maas:hunter2hunter2@db/maas")
	got, err := ledger.Leaks(log)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`"alice-1234" in: user alice-1234 did it`,
		`"hunter2hunter2" in: connecting to db with hunter2hunter2`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}
}

func TestLedgerWantsALog(t *testing.T) {
	t.Parallel()
	if _, err := new(Ledger).Leaks(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a log that is not there has no leaks for the wrong reason")
	}
}
