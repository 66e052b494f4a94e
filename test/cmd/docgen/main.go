// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docgen writes the reference documentation: the fields of all kinds from the
// generated CRDs, the names that mean something (phases, condition types, reasons,
// labels, annotations, finalizers) from the doc comments of their constants, the values
// of the templates from the component table and the doc comments of their types, and
// the metrics from their table.
// It owns the form of these pages; what they say belongs to the types, and it must not
// say anything about a field that its type does not.
//
// Usage: docgen -crds DIR -api DIR -values DIR -out DIR
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

// sources are the directories the pages are made of.
type sources struct{ crds, api, values string }

func main() {
	var from sources
	flag.StringVar(&from.crds, "crds", "config/crd/bases", "directory of the generated CRDs")
	flag.StringVar(&from.api, "api", "api/v1alpha1", "directory of the Go package with the constants")
	flag.StringVar(&from.values, "values", "templates/values", "directory of the Go package with the values of the templates")
	out := flag.String("out", "docs/reference", "directory to write the pages to")
	flag.Parse()

	if err := run(from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run(from sources, out string) error {
	pages, err := generate(from)
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
func generate(from sources) (map[string][]byte, error) {
	crds, err := loadCRDs(from.crds)
	if err != nil {
		return nil, err
	}
	groups, err := loadConstants(from.api)
	if err != nil {
		return nil, err
	}
	declared, err := loadValues(from.values)
	if err != nil {
		return nil, err
	}
	templateValues, err := valuesPage(desired.Table(), declared)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"api.md":             kindsPage(crds),
		"api-status.md":      statusPage(groups),
		"api-metadata.md":    metadataPage(groups),
		"metrics.md":         metricsPage(metrics.Families(), metrics.Labels()),
		"template-values.md": templateValues,
	}, nil
}
