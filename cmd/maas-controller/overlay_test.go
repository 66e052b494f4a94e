// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/overlay"
)

// overlayOf writes an overlay of one file.
func overlayOf(t *testing.T, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLoadTemplates(t *testing.T) {
	t.Parallel()
	const noEffect = "target: tenant/deployment-maas-api\nmerge: {metadata: {labels: {app.kubernetes.io/managed-by: maas-controller}}}\n"
	for name, tc := range map[string]struct {
		dir      string
		policy   overlay.Policy
		refused  string // what the error contains
		problems int
		digest   bool
	}{
		"no overlay is configured":            {},
		"the default directory is not there":  {dir: defaultOverlay},
		"another directory is not there":      {dir: filepath.Join(t.TempDir(), "none"), refused: "--template-overlay"},
		"an empty directory":                  {dir: t.TempDir()},
		"an image that there is not":          {dir: overlayOf(t, "images.yaml", "nonsense: quay.io/a/b:c\n"), refused: "nonsense"},
		"an image that is none":               {dir: overlayOf(t, "images.yaml", "maas-api: latest\n"), refused: "maas-api"},
		"an image of another registry":        {dir: overlayOf(t, "images.yaml", "maas-api: registry.example.com/maas-api:v1\n"), digest: true},
		"a patch that has an effect":          {dir: overlayOf(t, "patches/a.yaml", "target: tenant/deployment-maas-api\nmerge: {spec: {minReadySeconds: 7}}\n"), digest: true},
		"a patch without, strictly":           {dir: overlayOf(t, "patches/a.yaml", noEffect), refused: "patches/a.yaml"},
		"a patch without, with a warning":     {dir: overlayOf(t, "patches/a.yaml", noEffect), policy: overlay.PolicyWarn, problems: 1, digest: true},
		"a file that is no part of it":        {dir: overlayOf(t, "a.txt", ""), refused: "a.txt"},
		"a patch of the name, with a warning": {dir: overlayOf(t, "patches/a.yaml", "target: tenant/deployment-maas-api\nmerge: {metadata: {name: other}}\n"), policy: overlay.PolicyWarn, refused: "metadata.name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := DefaultConfig()
			c.TemplateOverlay = tc.dir
			if tc.policy != "" {
				c.TemplateOverlayPolicy = string(tc.policy)
			}
			loaded, err := loadTemplates(c, func(string) (string, bool) { return "", false }, nil)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Fatalf("loadTemplates() error = %v, want %q in it", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatalf("loadTemplates() error = %v", err)
			}
			if loaded.engine == nil || len(loaded.problems) != tc.problems || loaded.overlay.Empty() == tc.digest {
				t.Errorf("engine %v, problems %v, digest %q", loaded.engine != nil, loaded.problems, loaded.overlay.Digest)
			}
		})
	}
}
