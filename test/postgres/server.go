// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// Superuser owns the server.
	Superuser = "postgres"
	// Owner owns the databases of [Server.NewDatabase].
	Owner = "maas"

	readyTimeout = 2 * time.Minute
	pollInterval = 20 * time.Millisecond
	probeTimeout = 2 * time.Second
	stopTimeout  = time.Minute
)

// Options say what a server is like. The zero value is what most tests want.
type Options struct {
	// Dir holds everything of the server. Empty means a temporary directory
	// that Stop removes. A directory used before keeps its data, and its address
	// if nobody else has that now; [Remove] removes it.
	Dir string
	// Out receives the progress of what takes long; nil means nobody.
	Out io.Writer
	// TLS makes the server refuse connections without TLS; see [Server.CertificateFile].
	TLS bool
	// Fsync makes writes survive a crash of the machine, at a price in time.
	Fsync bool
	// Settings are further lines of postgresql.conf.
	Settings map[string]string
	// Keep lets the server outlive this process. Its owner then ends it with
	// what [Server.Process] returns.
	Keep bool
	// Started, unless nil, is told of the server's process as soon as there is one,
	// so that a server that is kept can be ended whatever happens to its starter.
	Started func(*process.Process) error
}

// Server is a running PostgreSQL server.
type Server struct {
	options   Options
	dir       string
	programs  *programs
	address   string
	password  string
	process   *process.Process
	databases atomic.Int64
	poolers   atomic.Int64
}

// Start starts a server and returns when it answers. The caller stops it.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	s := &Server{options: o, dir: o.Dir}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if err := s.Up(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := s.createOwner(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// prepare makes the directory, or finds what an earlier server left in it.
func (s *Server) prepare(ctx context.Context) error {
	var err error
	if s.dir, err = place(s.options.Dir); err != nil {
		return err
	}
	if s.programs, err = findPrograms(ctx, s.options.Out, s.dir); err != nil {
		return err
	}
	if err := s.initialize(ctx); err != nil {
		return err
	}
	if err := s.keepAddress(ctx); err != nil {
		return err
	}
	return s.configure()
}

// keepAddress takes the address of the server that was here before, unless somebody
// else has it now.
func (s *Server) keepAddress(ctx context.Context) error {
	file := filepath.Join(s.dir, "address")
	before, err := remembered(file, func() (string, error) { return testenv.FreeAddress(ctx) })
	if err != nil {
		return err
	}
	if s.address, err = testenv.KeepAddress(ctx, before); err != nil || s.address == before {
		return err
	}
	if err := os.WriteFile(file, []byte(s.address+"\n"), 0o600); err != nil {
		return fmt.Errorf("write address: %w", err)
	}
	return nil
}

// remembered returns what a file says; if there is none it is made.
func remembered(file string, fresh func() (string, error)) (string, error) {
	if content, err := os.ReadFile(file); err == nil {
		return strings.TrimSpace(string(content)), nil
	}
	value, err := fresh()
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	return value, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, dataDir) }

// configure writes the settings; those that initdb wrote stay as defaults.
func (s *Server) configure() error {
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return fmt.Errorf("split address: %w", err)
	}
	onOff := map[bool]string{true: "on", false: "off"}
	settings := map[string]string{
		"listen_addresses": host, "port": port, "unix_socket_directories": "",
		"fsync": onOff[s.options.Fsync], "synchronous_commit": onOff[s.options.Fsync],
		"full_page_writes": onOff[s.options.Fsync], "ssl": onOff[s.options.TLS],
		"jit": "off", "max_connections": "300", "shared_buffers": "64MB", "timezone": "GMT", "log_timezone": "GMT",
		"logging_collector": "off", "max_wal_size": "1GB", "autovacuum_naptime": "10s",
	}
	if s.options.TLS {
		if err := s.writeCertificate(host); err != nil {
			return err
		}
		settings["ssl_cert_file"], settings["ssl_key_file"] = s.CertificateFile(), filepath.Join(s.dir, "tls.key")
	}
	var text strings.Builder
	text.WriteString("# Written anew at each start.\n")
	for _, all := range []map[string]string{settings, s.options.Settings} {
		for name, value := range all {
			fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
		}
	}
	kind := map[bool]string{true: "hostssl", false: "host"}[s.options.TLS]
	access := fmt.Sprintf("%s all %s 127.0.0.1/32 scram-sha-256\n", kind, "all") // Databases and users.
	for file, content := range map[string]string{"postgresql.auto.conf": text.String(), "pg_hba.conf": access} {
		path := filepath.Join(s.data(), file)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("configure server: %w", err)
		}
		if err := s.programs.own(path); err != nil {
			return err
		}
	}
	return nil
}

// Up starts the server again after Down, at the same address, and returns when
// it answers.
func (s *Server) Up(ctx context.Context) error {
	if err := s.removeStaleLock(); err != nil {
		return err
	}
	p, err := process.Start(ctx, process.Command{
		Name: "postgres", Path: s.programs.path("postgres"), Args: []string{"-D", s.data()}, Env: s.programs.env, Dir: s.data(),
		Log: filepath.Join(s.dir, "postgres.log"), Keep: s.options.Keep, User: s.programs.user, StopSignal: syscall.SIGINT,
	})
	if err != nil {
		return err
	}
	s.process = p
	if s.options.Started != nil {
		if err := s.options.Started(p); err != nil {
			return err
		}
	}
	return await(ctx, p, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.AdminURL("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// removeStaleLock removes the lock of a server that was killed. The next one takes
// a process for alive whose result nobody asks for, as in a container without init.
func (s *Server) removeStaleLock() error {
	file := filepath.Join(s.data(), "postmaster.pid")
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read lock: %w", err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	if pid, err := strconv.Atoi(first); err != nil || process.CommandLine(pid) != "" {
		return nil //nolint:nilerr // The server says what is wrong with its lock.
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("remove lock: %w", err)
	}
	return nil
}

// Down ends the server as an administrator would: clients are cut off, and it
// returns when the server is gone.
func (s *Server) Down() error {
	if s.process == nil {
		return nil
	}
	if err := s.Thaw(); err != nil {
		return err
	}
	return s.process.Stop(stopTimeout)
}

// Restart is Down and Up.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Down(); err != nil {
		return err
	}
	return s.Up(ctx)
}

// Stop ends the server and removes its directory if that is a temporary one.
func (s *Server) Stop() error {
	if err := s.Down(); err != nil {
		return err
	}
	return s.remove()
}

func (s *Server) remove() error {
	if s.options.Dir != "" || s.dir == "" {
		return nil
	}
	return Remove(s.dir)
}

// Process is the server's process.
func (s *Server) Process() *process.Process { return s.process }

// Address is host:port of the server.
func (s *Server) Address() string { return s.address }

// AdminURL connects to a database as the superuser.
func (s *Server) AdminURL(database string) string {
	return s.url(Superuser, s.address, database)
}

// URL connects to a database as [Owner], who is no superuser.
func (s *Server) URL(database string) string {
	return s.url(Owner, s.address, database)
}

func (s *Server) url(user, address, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, s.password), Host: address, Path: "/" + database}
	query := url.Values{"sslmode": {"disable"}}
	if s.options.TLS && address == s.address {
		query = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {s.CertificateFile()}}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// NewDatabase creates an empty database and returns how to connect to it as
// [Owner]. It goes with the server.
func (s *Server) NewDatabase(ctx context.Context) (string, error) {
	name := "test_" + strconv.FormatInt(s.databases.Add(1), 10) + "_" + strings.ToLower(rand.Text()[:6])
	if err := s.CreateDatabase(ctx, name); err != nil {
		return "", err
	}
	return s.URL(name), nil
}

// CreateDatabase creates a database of a given name that belongs to [Owner],
// unless there is one.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	return s.admin(ctx, func(conn *pgx.Conn) error {
		var exists bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
			return fmt.Errorf("look for database: %w", err)
		}
		if exists {
			return nil
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" OWNER "+Owner); err != nil {
			return fmt.Errorf("create database: %w", err)
		}
		return nil
	})
}

func (s *Server) createOwner(ctx context.Context) error {
	return s.admin(ctx, func(conn *pgx.Conn) error {
		var exists bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", Owner).Scan(&exists); err != nil {
			return fmt.Errorf("look for role: %w", err)
		}
		if exists {
			return nil
		}
		// rand.Text has letters and digits only.
		if _, err := conn.Exec(ctx, "CREATE ROLE "+Owner+" LOGIN PASSWORD '"+s.password+"'"); err != nil {
			return fmt.Errorf("create role: %w", err)
		}
		return nil
	})
}

// admin calls f with a superuser's connection.
func (s *Server) admin(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, s.AdminURL("postgres"))
	if err != nil {
		return fmt.Errorf("connect as administrator: %w", err)
	}
	return errors.Join(f(conn), conn.Close(ctx))
}

// await returns when the probe succeeds.
func await(ctx context.Context, p *process.Process, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		probing, done := context.WithTimeout(ctx, probeTimeout)
		err := probe(probing)
		done()
		switch {
		case err == nil:
			return nil
		case !p.Alive():
			return fmt.Errorf("%s ended: %s", p.Name, p.Excerpt())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("await %s: %w: %s", p.Name, err, p.Excerpt())
		}
	}
}
