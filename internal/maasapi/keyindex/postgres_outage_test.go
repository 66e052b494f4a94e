// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	"github.com/opendatahub-io/maas-operator/test/postgres"
)

// Mode 6, with a real server that is put back to an older state.
func TestServerPutBackToAnOlderStateIsLoadedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // The server runs as somebody else.
		t.Fatal(err)
	}
	server := newServer(t, postgres.Options{Dir: filepath.Join(dir, "server")})
	database := newDatabase(t, server)
	r := newReplica(t, database, nil)
	kept := r.mint(t)
	data, backup := filepath.Join(dir, "server", "data"), filepath.Join(dir, "backup")
	replace := func(from, to string) {
		if err := server.Down(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
			t.Fatalf("copy data: %v: %s", err, out)
		}
		if err := server.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	replace(data, backup)
	lost := r.mintAgain(t)
	eventually(t, "the replica is fresh", func() bool { return r.State() == keyindex.StateFresh && r.accepts(t, lost) })
	loads := r.metric(t, "loads_total")
	replace(backup, data)
	eventually(t, "keys are loaded again", func() bool { return r.metric(t, "loads_total") > loads })
	if r.accepts(t, lost) {
		t.Error("a key that the database no longer has is accepted")
	}
	eventually(t, "the replica is fresh", func() bool { return r.State() == keyindex.StateFresh })
	r.wantAccepted(t, kept)
}

// Mode 9 and mode 1, with a server that is restarted.
func TestRevocationIsInForceInTimeAfterARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := newServer(t, postgres.Options{})
	database := newDatabase(t, server)
	here, there := newReplica(t, database, nil), newReplica(t, database, nil)
	keys := here.mintMany(t, 50)
	for _, k := range keys {
		there.wantAccepted(t, k)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		execute(t, database, "UPDATE api_keys SET status = 'revoked' WHERE id = $1", k.id)
		there.refusedWithin(t, k, time.Now())
	}
	eventually(t, "the replica is fresh", func() bool { return there.State() == keyindex.StateFresh })
	there.wantAccepted(t, here.mintAgain(t))
}

// Mode 9, with a server that is frozen: it takes connections and says nothing.
func TestFrozenServerHangsNobodyAndIsBridgedForTheGrace(t *testing.T) {
	t.Parallel()
	const grace, patience = 6 * time.Second, 3 * time.Second
	server := newServer(t, postgres.Options{})
	database := newDatabase(t, server)
	r := newReplica(t, database, func(o *keyindex.Options) { o.Grace, o.LookupTimeout = grace, 200*time.Millisecond })
	k := r.mint(t)
	r.wantAccepted(t, k)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var unknown apikey.Digest
	begun := time.Now()
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	thaw := sync.OnceFunc(func() {
		if err := server.Thaw(); err != nil {
			t.Error(err)
		}
	})
	defer thaw()
	slowest := time.Duration(0)
	eventually(t, "the grace is over", func() bool {
		asked := time.Now()
		known := r.accepts(t, k)
		if _, err := r.Get(t.Context(), unknown); err == nil || errors.Is(err, apikey.ErrNotFound) && asked.Sub(begun) > 2*time.Second {
			t.Errorf("an unknown key got %v %s after the database froze", err, asked.Sub(begun))
		}
		slowest = max(slowest, time.Since(asked))
		switch out := asked.Sub(begun); {
		case !known && out < grace-2*time.Second:
			t.Fatalf("a known key was refused %s after the database froze", out)
		case known && out > grace+time.Second: // Freezing takes a moment.
			t.Fatalf("a known key was accepted %s after the database froze", out)
		}
		return !known
	})
	if slowest > patience {
		t.Errorf("an answer took %s", slowest)
	}
	if r.Ready() == nil {
		t.Error("ready after the grace")
	}
	thaw()
	eventually(t, "known keys are accepted again", func() bool { return r.accepts(t, k) && r.Ready() == nil })
	t.Logf("slowest answer %s", slowest)
}
