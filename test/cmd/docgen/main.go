// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docgen writes the reference documentation of the API: the fields of all
// kinds from the generated CRDs, and the names that mean something (phases, condition
// types, reasons, labels, annotations, finalizers) from the doc comments of their
// constants. It owns the form of these pages; what they say belongs to the API types,
// and it must not say anything about a field that its type does not.
//
// Usage: docgen -crds DIR -api DIR -out DIR
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	crds := flag.String("crds", "config/crd/bases", "directory of the generated CRDs")
	api := flag.String("api", "api/v1alpha1", "directory of the Go package with the constants")
	out := flag.String("out", "docs/reference", "directory to write the pages to")
	flag.Parse()

	if err := run(*crds, *api, *out); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run(crds, api, out string) error {
	pages, err := generate(crds, api)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	for name, content := range pages {
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return fmt.Errorf("write page: %w", err)
		}
	}
	return nil
}

// generate returns the pages by file name.
func generate(crdDir, apiDir string) (map[string][]byte, error) {
	crds, err := loadCRDs(crdDir)
	if err != nil {
		return nil, err
	}
	groups, err := loadConstants(apiDir)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"api.md":          kindsPage(crds),
		"api-status.md":   statusPage(groups),
		"api-metadata.md": metadataPage(groups),
	}, nil
}
