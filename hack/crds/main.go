// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crds collects the CRDs of the products the operator works with from
// their Go modules into <directory>/<set>/. It runs in the directory of its own
// go.mod, which pins the versions; the content of every module is checked
// against the committed go.sum. Nothing is compiled from these modules.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crds DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(directory string) error {
	pinned, err := requirements()
	if err != nil {
		return err
	}
	directories, err := download(pinned)
	if err != nil {
		return err
	}
	for _, s := range sets() {
		if err := collect(s, directories, filepath.Join(directory, s.name)); err != nil {
			return fmt.Errorf("collect %s: %w", s.name, err)
		}
	}
	return nil
}

// requirements returns what go.mod requires as module@version.
func requirements() ([]string, error) {
	out, err := goCommand("mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("read go.mod: %w", err)
	}
	var pinned []string
	for _, r := range mod.Require {
		pinned = append(pinned, r.Path+"@"+r.Version)
	}
	return pinned, nil
}

// download fetches the modules and returns where each was unpacked. They are
// named with their versions one by one, so that the go command loads none of
// their dependencies.
func download(modules []string) (map[string]string, error) {
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		return nil, fmt.Errorf("read go.sum: %w", err)
	}
	out, err := goCommand(append([]string{"mod", "download", "-json"}, modules...)...)
	if err != nil {
		return nil, err
	}
	directories := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var module struct{ Path, Version, Dir, Sum, Error string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			return directories, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the answer of go mod download: %w", err)
		}
		if module.Error != "" {
			return nil, fmt.Errorf("download %s: %s", module.Path, module.Error)
		}
		line := fmt.Sprintf("%s %s %s\n", module.Path, module.Version, module.Sum)
		if !strings.Contains(string(sums), line) {
			return nil, fmt.Errorf("check %s %s: its sum %s is not in go.sum", module.Path, module.Version, module.Sum)
		}
		directories[module.Path] = module.Dir
	}
}

// collect copies the files of a set. A pattern that matches nothing is an
// error: a new version of the module may have moved its files.
func collect(s set, directories map[string]string, target string) error {
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	for _, source := range s.files {
		directory, ok := directories[source.module]
		if !ok {
			return fmt.Errorf("go.mod does not require %s", source.module)
		}
		for _, pattern := range source.patterns {
			files, err := filepath.Glob(filepath.Join(directory, pattern))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("%s has no file %s", source.module, pattern)
			}
			for _, file := range files {
				if err := copyFile(file, target); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func copyFile(file, target string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	name := filepath.Join(target, filepath.Base(file))
	if _, err := os.Stat(name); err == nil {
		return fmt.Errorf("two files are named %s", filepath.Base(file))
	}
	if !bytes.Contains(content, []byte("kind: CustomResourceDefinition")) {
		return nil // such as the admission policy beside the CRDs of Gateway API
	}
	return os.WriteFile(name, content, 0o644)
}

func goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args[:2], " "), err)
	}
	return out.Bytes(), nil // a module that failed says so in the output
}
