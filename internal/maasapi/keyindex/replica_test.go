// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/keyindex"
	store "github.com/opendatahub-io/maas-operator/internal/maasapi/store/postgres"
	"github.com/opendatahub-io/maas-operator/test/postgres"
)

const tenant = "models-as-a-service"

// bound is within what time a revocation is in force everywhere.
const bound = keyindex.DefaultStaleAfter

// lookup is how long look-ups may take: test machines are slow.
const lookup = time.Second

// newServer is a server of the test's own.
func newServer(t *testing.T, o postgres.Options) *postgres.Server {
	t.Helper()
	server, err := postgres.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// newDatabase is a database with our schema; on the shared server, if none is
// given.
func newDatabase(t *testing.T, server *postgres.Server) string {
	t.Helper()
	if server == nil {
		used.Do(func() {})
		var err error
		if server, err = shared(); err != nil {
			t.Fatal(err)
		}
	}
	database, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), store.MigrateOptions{
		URL: database, Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
	}); err != nil {
		t.Fatal(err)
	}
	return database
}

// replica is one of several processes that serve the same tenant.
type replica struct {
	*keyindex.Index
	store    *store.Store
	registry *prometheus.Registry
}

// newReplica returns a replica that has loaded its keys and runs until the test
// ends.
func newReplica(t *testing.T, database string, change func(*keyindex.Options)) *replica {
	t.Helper()
	r := &replica{registry: prometheus.NewRegistry()}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	var err error
	if r.store, err = store.Open(t.Context(), store.Options{
		URL: database, Tenant: tenant, Log: log, Clock: clock.RealClock{}, Registerer: prometheus.NewRegistry(), MaxConns: 20,
		AcquireTimeout: lookup,
	}); err != nil {
		t.Fatal(err)
	}
	o := keyindex.Options{
		Feed: r.store, Clock: clock.RealClock{}, Log: log, Registerer: r.registry,
		LookupTimeout: lookup,
	}
	if change != nil {
		change(&o)
	}
	if r.Index, err = keyindex.New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.store.Close()
	})
	eventually(t, "the replica is fresh", func() bool { return r.State() == keyindex.StateFresh })
	return r
}

// key is a key with what only its owner knows.
type key struct {
	id     string
	digest apikey.Digest
}

// mint makes a key on a replica.
func (r *replica) mint(t *testing.T) key {
	t.Helper()
	k, err := r.tryMint(t)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// mintAgain is mint after the server was restarted: connections of before are yet to
// find out.
func (r *replica) mintAgain(t *testing.T) key {
	t.Helper()
	var made key
	eventually(t, "a key can be made again", func() bool {
		var err error
		made, err = r.tryMint(t)
		return err == nil
	})
	return made
}

func (r *replica) tryMint(t *testing.T) (key, error) {
	t.Helper()
	secret, err := apikey.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	k := apikey.NewKey{Digest: secret.Digest(), Key: apikey.Key{
		ID: uuid.NewString(), Username: "alice", Name: "key", Subscription: "free", Tenant: tenant,
		Groups: []string{"system:authenticated"}, Status: apikey.StatusActive, CreatedAt: time.Now(),
	}}
	return key{id: k.ID, digest: k.Digest}, r.store.Insert(t.Context(), k)
}

func (r *replica) mintMany(t *testing.T, n int) []key {
	t.Helper()
	keys := make([]key, n)
	for i := range keys {
		keys[i] = r.mint(t)
	}
	return keys
}

func (r *replica) revoke(t *testing.T, k key) {
	t.Helper()
	if _, err := r.store.Revoke(t.Context(), k.id); err != nil {
		t.Fatal(err)
	}
}

// accepts tells whether a replica lets a key in.
func (r *replica) accepts(t *testing.T, k key) bool {
	t.Helper()
	record, err := r.Get(t.Context(), k.digest)
	return err == nil && record.Refusal(r.Now()) == ""
}

func (r *replica) wantAccepted(t *testing.T, k key) {
	t.Helper()
	if _, err := r.Get(t.Context(), k.digest); err != nil || !r.accepts(t, k) {
		t.Fatalf("a good key is refused: %v", err)
	}
}

// refusedWithin waits until a replica refuses a key, and wants it to do so at
// most the bound after the given moment. It returns how long it took.
func (r *replica) refusedWithin(t *testing.T, k key, revoked time.Time) time.Duration {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		asked := time.Since(revoked)
		if !r.accepts(t, k) {
			return asked
		}
		if asked > bound {
			t.Errorf("a revoked key was accepted %s after its revocation", asked)
			return asked
		}
		<-ticker.C
	}
}

func (r *replica) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() == "maas_api_key_index_"+name {
			for _, m := range family.GetMetric() {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("it never happened that %s", what)
		}
	}
}

// execute runs a statement as the database's owner.
func execute(t *testing.T, database, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), statement, args...)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// killListeners cuts off, again and again, every connection that listens.
func killListeners(ctx context.Context, t *testing.T, database string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name LIKE '%listener' AND datname = current_database()`); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// proxy passes connections on to a database, until those that are open are
// made to swallow everything.
type proxy struct {
	target string
	mu     sync.Mutex
	hole   chan struct{}
	conns  []net.Conn
	group  sync.WaitGroup
}

// newProxy returns the URL of a database behind a proxy.
func newProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, hole: make(chan struct{})}
	p.group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.serve(conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.group.Wait()
	})
	u.Host = listener.Addr().String()
	return p, u.String()
}

func (p *proxy) serve(client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, client, server)
	hole := p.hole
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		p.group.Go(func() {
			buffer := make([]byte, 32<<10)
			for {
				n, err := pair[0].Read(buffer)
				select {
				case <-hole:
					n = 0
				default:
				}
				if _, broken := pair[1].Write(buffer[:n]); err != nil || broken != nil {
					if errors.Is(err, io.EOF) {
						_ = pair[1].Close()
					}
					return
				}
			}
		})
	}
}

// cut ends all open connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// swallow has all open connections say nothing more, without an end. New ones
// work.
func (p *proxy) swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.hole)
	p.hole = make(chan struct{})
}
