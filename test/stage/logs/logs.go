// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs keeps what the programs of a stage write, for whoever looks into a
// failure: in bin/test-logs/<suite>/<process id of the suite>, where it outlives the
// stage. It owns names and lifetimes; it must not know which programs there are.
//
// The next run of a suite removes what earlier ones left, but not what belongs to one
// that still runs.
package logs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Dir is where the logs of this process are, if it has any.
func Dir() string { return filepath.Join(suiteDir(), strconv.Itoa(os.Getpid())) }

// suiteDir is named like the directory below test that a suite runs in, and
// otherwise like the program.
func suiteDir() string {
	root, name := testenv.RepoRoot(), filepath.Base(os.Args[0])
	if wd, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(filepath.Join(root, "test"), wd); err == nil && filepath.IsLocal(below) && below != "." {
			name = strings.ReplaceAll(filepath.ToSlash(below), "/", "-")
		}
	}
	absolute, err := filepath.Abs(filepath.Join(root, "bin", "test-logs", name))
	if err != nil { // There is no working directory.
		return filepath.Join(os.TempDir(), "test-logs", name)
	}
	return absolute
}

// New creates an empty log for another life of a program and returns its path. They
// are numbered.
func New(program string) (string, error) {
	if err := os.MkdirAll(Dir(), 0o750); err != nil {
		return "", fmt.Errorf("make directory of logs: %w", err)
	}
	for n := number(Newest(program)) + 1; ; n++ {
		path := filepath.Join(Dir(), fmt.Sprintf("%s-%d.log", program, n))
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make log: %w", err)
		}
		return path, file.Close()
	}
}

// Keep copies the files below a directory that will not be there much longer. One
// that does not exist has none.
func Keep(dir, as string) error {
	err := os.CopyFS(filepath.Join(Dir(), as), os.DirFS(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	return nil
}

// Remove deletes the logs of this process.
func Remove() error {
	if err := os.RemoveAll(Dir()); err != nil {
		return fmt.Errorf("remove logs: %w", err)
	}
	_ = os.Remove(suiteDir()) // Unless there are others.
	return nil
}

// Main runs the tests of a package and removes their logs if all pass. A suite of
// Ginkgo needs no such thing, see package specs.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if code != 0 {
		fmt.Fprintf(os.Stdout, "The logs are kept in %s until the next run.\n", Dir())
		return code
	}
	if err := Remove(); err != nil {
		fmt.Fprintln(os.Stdout, err)
		return 1
	}
	return 0
}

// Sweep deletes what is left of runs of this suite that have ended.
func Sweep() error {
	runs, err := os.ReadDir(suiteDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for old logs: %w", err)
	}
	var errs []error
	for _, run := range runs {
		pid, err := strconv.Atoi(run.Name())
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			errs = append(errs, os.RemoveAll(filepath.Join(suiteDir(), run.Name())))
		}
	}
	return errors.Join(errs...)
}

// Newest returns the path of the log of the latest life of a program; it is empty if
// there is none.
func Newest(program string) string {
	paths, _ := filepath.Glob(filepath.Join(Dir(), program+"-*.log")) // The pattern is well formed.
	if len(paths) == 0 {
		return ""
	}
	return slices.MaxFunc(paths, func(a, b string) int { return number(a) - number(b) })
}

// number is that of a log, 0 if it has none.
func number(path string) int {
	name := strings.TrimSuffix(path, ".log")
	n, _ := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return n
}
