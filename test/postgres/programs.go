// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Build makes sure that the programs exist and run here. It returns at once when
// they do. Progress goes to out.
func Build(ctx context.Context, out io.Writer) error {
	cmd := exec.CommandContext(ctx, filepath.Join(testenv.RepoRoot(), "hack", "postgres.sh"))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("get PostgreSQL: %w", err)
	}
	return nil
}

// programs are the unpacked programs and who runs them.
type programs struct {
	dir string
	// user is nil when they run as the caller.
	user *syscall.Credential
	env  []string
}

// findPrograms prepares the programs for servers that live below home: if their
// user cannot reach the programs where they are, they are copied there.
func findPrograms(ctx context.Context, out io.Writer, home string) (*programs, error) {
	if err := Build(ctx, out); err != nil {
		return nil, err
	}
	p := &programs{dir: filepath.Join(testenv.RepoRoot(), "bin", "postgres")}
	var err error
	if p.dir, err = filepath.Abs(p.dir); err != nil {
		return nil, fmt.Errorf("resolve directory: %w", err)
	}
	if os.Geteuid() == 0 {
		if p.user, err = unprivileged(); err != nil {
			return nil, err
		}
		if !reachable(p.dir) {
			reach := filepath.Join(home, "programs")
			if err := copyTree(p.dir, reach); err != nil {
				return nil, err
			}
			p.dir = reach
		}
	}
	search, err := librariesOf(p.dir)
	if err != nil {
		return nil, err
	}
	p.env = []string{"LD_LIBRARY_PATH=" + search, "LC_ALL=C", "TZ=GMT"}
	return p, nil
}

// librariesOf tells where programs in a directory find their libraries, as the
// linker wants it.
func librariesOf(dir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, "libraries"))
	if err != nil {
		return "", fmt.Errorf("read list of libraries: %w", err)
	}
	list := strings.Fields(string(content))
	for i := range list {
		list[i] = filepath.Join(dir, list[i])
	}
	return strings.Join(list, ":"), nil
}

func (p *programs) path(name string) string { return filepath.Join(p.dir, "bin", name) }

// run runs a program that ends by itself; the error carries what it printed.
func (p *programs) run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, p.path(name), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, p.env...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Pdeathsig: syscall.SIGKILL}
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", name, err, printed)
	}
	return nil
}

// own gives files to the user that runs the programs.
func (p *programs) own(paths ...string) error {
	if p.user == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Chown(path, int(p.user.Uid), int(p.user.Gid)); err != nil {
			return fmt.Errorf("hand over file: %w", err)
		}
	}
	return nil
}

// unprivileged is the user "nobody", or its usual number where it has no name.
func unprivileged() (*syscall.Credential, error) {
	const usual = 65534
	nobody, err := osuser.Lookup("nobody")
	if err != nil {
		return &syscall.Credential{Uid: usual, Gid: usual}, nil //nolint:nilerr // the number works without a name
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read user id: %w", err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read group id: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// reachable reports whether everybody may enter the directory and all above it.
func reachable(dir string) bool {
	const enter = 0o001
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&enter == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// copyTree copies programs, with what they are linked to.
func copyTree(from, to string) error {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target) //nolint:gosec // Nobody else writes there.
		default:
			return copyFile(path, target)
		}
	})
	if err != nil {
		return fmt.Errorf("copy programs: %w", err)
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
