// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Pooler is a running PgBouncer in transaction mode: each transaction of a
// client may run on another connection to the server. Settings that a client
// sends at connect are refused, as its defaults are.
type Pooler struct {
	// URL is what was given to [Server.StartPooler], through the pooler.
	URL string

	process *process.Process
	dir     string
}

// StartPooler starts a pooler for a database of this server and returns when it
// answers. It ends with Stop, or with this process.
func (s *Server) StartPooler(ctx context.Context, database string) (*Pooler, error) {
	target, err := url.Parse(database)
	if err != nil {
		return nil, fmt.Errorf("read URL: %w", err)
	}
	address, err := testenv.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	p := &Pooler{dir: filepath.Join(s.dir, "pooler-"+strconv.FormatInt(s.poolers.Add(1), 10))}
	p.URL = s.url(target.User.Username(), address, strings.TrimPrefix(target.Path, "/"))
	if err := s.configurePooler(p.dir, address); err != nil {
		return nil, err
	}
	p.process, err = process.Start(ctx, process.Command{
		Name: "pgbouncer", Path: s.programs.path("pgbouncer"), Args: []string{filepath.Join(p.dir, "pgbouncer.ini")},
		Env: s.programs.env, Dir: p.dir, Log: filepath.Join(s.dir, filepath.Base(p.dir)+".log"), User: s.programs.user,
		StopSignal: syscall.SIGTERM,
	})
	if err != nil {
		return nil, err
	}
	err = await(ctx, p.process, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, p.URL)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("%w (stopping it: %w)", err, p.Stop())
	}
	return p, nil
}

func (s *Server) configurePooler(dir, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("split address: %w", err)
	}
	serverHost, serverPort, err := net.SplitHostPort(s.address)
	if err != nil {
		return fmt.Errorf("split address: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	users := filepath.Join(dir, "users.txt")
	security := "server_tls_sslmode = disable\n"
	if s.options.TLS {
		security = "server_tls_sslmode = verify-full\nserver_tls_ca_file = " + s.CertificateFile() + "\n"
	}
	files := map[string]string{
		users: fmt.Sprintf("%q %q\n%q %q\n", Owner, s.password, Superuser, s.password),
		filepath.Join(dir, "pgbouncer.ini"): "[databases]\n* = host=" + serverHost + " port=" + serverPort + "\n" +
			"[pgbouncer]\nlisten_addr = " + host + "\nlisten_port = " + port + "\nunix_socket_dir =\n" +
			"auth_type = scram-sha-256\nauth_file = " + users + "\npool_mode = transaction\n" + security +
			"max_client_conn = 1000\ndefault_pool_size = 20\nserver_check_delay = 0\nserver_login_retry = 1\n",
	}
	paths := []string{dir}
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("configure pooler: %w", err)
		}
		paths = append(paths, path)
	}
	return s.programs.own(paths...)
}

// Stop ends the pooler; its clients are cut off.
func (p *Pooler) Stop() error {
	if err := p.process.Stop(stopTimeout); err != nil {
		return err
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("remove directory: %w", err)
	}
	return nil
}
