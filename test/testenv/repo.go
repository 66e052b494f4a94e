// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// modulePath identifies the root of the repository among the directories above.
const modulePath = "github.com/opendatahub-io/maas-operator"

// RepoRoot returns the directory of the repository as [Checkout] does, and "." when
// there is none.
func RepoRoot() string {
	dir, err := Checkout()
	if err != nil {
		return "."
	}
	return dir
}

// ErrNoCheckout says that the repository is not found.
var ErrNoCheckout = errors.New("this directory is not in a checkout of " + modulePath + ": run this in the checkout")

// Checkout returns the directory of the repository: the nearest one above the
// working directory that holds the main module, or else the one this file was
// compiled from, which a program that was built with -trimpath does not know.
func Checkout() (string, error) {
	start := []string{}
	if wd, err := os.Getwd(); err == nil {
		start = append(start, wd)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		start = append(start, filepath.Dir(file))
	}
	for _, dir := range start {
		for ; ; dir = filepath.Dir(dir) {
			if isRoot(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", ErrNoCheckout
}

func isRoot(dir string) bool {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	return strings.TrimSpace(first) == "module "+modulePath
}

// Build makes sure that the programs ("controlplane") or files ("crds") named
// by the target of hack/build.sh exist and are current. It returns at once when
// they are. Progress goes to out.
func Build(ctx context.Context, target string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, filepath.Join(RepoRoot(), "hack", "build.sh"), target)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", target, err)
	}
	return nil
}

// binary returns the path of a program built by hack/build.sh.
func binary(name string) string {
	return filepath.Join(RepoRoot(), "bin", name)
}
