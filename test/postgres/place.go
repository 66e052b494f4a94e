// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// placeFile names, in a directory that servers cannot reach, where they live.
	placeFile = "place"
	// passable lets the servers' user pass through a directory, not list it.
	passable = 0o711
)

// place returns the directory in which a server lives: the one asked for, or a
// temporary one if none is or if its user cannot reach that one.
func place(dir string) (string, error) {
	if dir == "" {
		return temporary()
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, passable)
	}
	if err == nil {
		err = os.Chmod(dir, passable)
	}
	if err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	if os.Geteuid() != 0 || reachable(dir) {
		return dir, nil
	}
	if dir, err = remembered(filepath.Join(dir, placeFile), temporary); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, passable); err != nil {
		return "", fmt.Errorf("make directory: %w", err)
	}
	return dir, nil
}

// temporary makes a temporary directory that servers can reach.
func temporary() (string, error) {
	parent := os.TempDir()
	if os.Geteuid() == 0 && !reachable(parent) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "postgres-")
	if err == nil {
		err = os.Chmod(dir, passable)
	}
	if err != nil {
		return "", fmt.Errorf("make temporary directory: %w", err)
	}
	return dir, nil
}

// Remove removes the directory of a server that has ended, as given in
// [Options].Dir, and all it kept.
func Remove(dir string) error {
	if elsewhere, err := os.ReadFile(filepath.Join(dir, placeFile)); err == nil {
		if err := Remove(strings.TrimSpace(string(elsewhere))); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove directory: %w", err)
	}
	return nil
}
