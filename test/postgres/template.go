// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	// Below the directory of a server, and of the template of all servers.
	dataDir      = "data"
	passwordFile = "password"
	// templateName is, below bin/.build, the template. hack/postgres.sh removes it
	// when it brings other programs.
	templateName = "postgres.template"
)

// initdbArguments say what the data of all servers is like.
func initdbArguments() []string {
	return []string{"--username=" + Superuser, "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions"}
}

// initialize makes the data directory and the password, unless they exist. To make
// them takes a second of a processor, so that servers get copies of those that the
// first one made, the password and the server's identifier included: servers of
// one checkout differ in their databases only.
func (s *Server) initialize(ctx context.Context) error {
	password := filepath.Join(s.dir, passwordFile)
	if _, err := os.Stat(filepath.Join(s.data(), "PG_VERSION")); err != nil {
		template, err := s.programs.template(ctx)
		if err != nil {
			return err
		}
		if err := copyKept(ctx, filepath.Join(template, passwordFile), password); err != nil {
			return err
		}
		if err := copyKept(ctx, filepath.Join(template, dataDir), s.data()); err != nil {
			return err
		}
	}
	// PostgreSQL refuses data that others may enter, and whoever copies a checkout may
	// have let them.
	if err := os.Chmod(s.data(), 0o700); err != nil {
		return fmt.Errorf("close data directory: %w", err)
	}
	content, err := os.ReadFile(password)
	if err != nil {
		return fmt.Errorf("read password: %w", err)
	}
	s.password = strings.TrimSpace(string(content))
	return nil
}

// template returns the directory of the template, and makes it if this is the
// first server of this checkout.
func (p *programs) template(ctx context.Context) (string, error) {
	key := sha256.Sum256(fmt.Append(nil, initdbArguments(), p.user))
	work := filepath.Join(testenv.RepoRoot(), "bin", ".build")
	dir := filepath.Join(work, templateName, hex.EncodeToString(key[:6]))
	lock, err := os.OpenFile(filepath.Join(work, templateName+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("open lock: %w", err)
	}
	defer func() { _ = lock.Close() }() // It gives up the lock.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("take lock: %w", err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := p.makeTemplate(ctx, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// makeTemplate makes the template where the programs' user can reach it, and
// copies it to a directory.
func (p *programs) makeTemplate(ctx context.Context, dir string) error {
	home, err := temporary()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	data, secret := filepath.Join(home, dataDir), filepath.Join(home, passwordFile)
	if err := os.WriteFile(secret, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return fmt.Errorf("write password: %w", err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	if err := p.own(data, secret); err != nil {
		return err
	}
	if err := p.run(ctx, data, "initdb", append(initdbArguments(), "--pgdata="+data, "--pwfile="+secret)...); err != nil {
		return err
	}
	if err := os.Chown(secret, os.Geteuid(), os.Getegid()); err != nil {
		return fmt.Errorf("take back password: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return copyKept(ctx, home, dir)
}

// copyKept copies a file or a tree with owners and rights; it is there when it is
// complete. Where the file system can, the copy shares its blocks.
func copyKept(ctx context.Context, from, to string) error {
	incomplete := to + ".new"
	if err := os.RemoveAll(incomplete); err != nil {
		return fmt.Errorf("remove incomplete copy: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", from, incomplete).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", filepath.Base(from), err, out)
	}
	if err := os.Rename(incomplete, to); err != nil {
		return fmt.Errorf("rename copy: %w", err)
	}
	return nil
}
