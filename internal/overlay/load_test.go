// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	pin := strings.Repeat("0", 64)
	tests := map[string]struct {
		files []string
		names []string // what the error contains
	}{
		"a file that is no part of an overlay":   {files: []string{"notes.txt", "x"}, names: []string{"notes.txt", "no part of an overlay"}},
		"a template that lies too deep":          {files: []string{"templates/a/b/c.yaml.tmpl", "x"}, names: []string{"templates/a/b/c.yaml.tmpl"}},
		"a patch without a target":               {files: []string{patchFile, "merge: {a: b}"}, names: []string{patchFile, "target"}},
		"a patch of both forms":                  {files: []string{patchFile, patchHead + "merge: {a: b}\njsonPatch: [{op: remove, path: /a}]"}, names: []string{"either"}},
		"a patch of neither form":                {files: []string{patchFile, patchHead}, names: []string{"either"}},
		"a patch with a field that is not known": {files: []string{patchFile, patchHead + "mrege: {a: b}"}, names: []string{"mrege"}},
		"an operation that is not known":         {files: []string{patchFile, patchHead + "jsonPatch: [{op: smudge, path: /a}]"}, names: []string{"jsonPatch"}},
		"a doubled field":                        {files: []string{imagesFile, "server: quay.io/a/b:c\nserver: quay.io/a/b:d\n"}, names: []string{imagesFile, "server"}},
		"an empty replacement":                   {files: []string{replacement, ""}, names: []string{"# overrides:", "# contract:"}},
		"a replacement without its head":         {files: []string{replacement, demoText}, names: []string{"templates export"}},
		"a replacement in another's place":       {files: []string{replacement, Header("demo/deployment-other", pin) + demoText}, names: []string{"demo/deployment-other", string(demoID)}},
		"a replacement for another contract":     {files: []string{replacement, strings.Replace(Header(demoID, pin), "contract: v1", "contract: v2", 1) + demoText}, names: []string{"contract v2"}},
		"a profile for another contract":         {files: []string{profileFile, "contract: v9"}, names: []string{"v9", Contract}},
		"a profile with a label of the operator": {files: []string{profileFile, "contract: v1\nlabels: {maas.opendatahub.io/x: y}"}, names: []string{"maas.opendatahub.io/x", "your own domain"}},
		"a profile with a label that is none":    {files: []string{profileFile, "contract: v1\nlabels: {example.com/x: 'a b'}"}, names: []string{"example.com/x"}},
		"a further object that is not declared":  {files: []string{"templates/extra/configmap-x.yaml.tmpl", "x"}, names: []string{"configmap-x", extraFile}},
		"a further object without a file":        {files: []string{extraFile, "objects: [{id: extra/configmap-x, apiVersion: v1, kind: ConfigMap, scope: Tenant}]"}, names: []string{"configmap-x", "no file"}},
		"a further object without a scope":       {files: []string{extraFile, "objects: [{id: extra/configmap-x, apiVersion: v1, kind: ConfigMap}]"}, names: []string{"scope", "Installation"}},
		"all faults at once":                     {files: []string{"a.txt", "", patchFile, "merge: {a: b}"}, names: []string{"a.txt", patchFile}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(tc.files...)
			if err == nil {
				t.Fatal("Load() error = nil")
			}
			for _, text := range tc.names {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("Load() error = %v, want %q in it", err, text)
				}
			}
		})
	}
}

func TestTheDigestCoversPathsAndContents(t *testing.T) {
	t.Parallel()
	base := []string{patchFile, patchHead + "merge: {spec: {replicas: 2}}"}
	digests := map[string]string{}
	for name, files := range map[string][]string{
		"an overlay":      base,
		"other content":   {patchFile, patchHead + "merge: {spec: {replicas: 3}}"},
		"another path":    {"patches/other.yaml", base[1]},
		"a further file":  append([]string{imagesFile, "{}"}, base...),
		"an empty volume": {},
	} {
		o, err := load(files...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if other, taken := digests[o.Digest]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[o.Digest] = name
	}
	if digests[""] != "an empty volume" {
		t.Errorf("no digest is that of %q, want an empty volume", digests[""])
	}
}

// A ConfigMap volume holds its files in a hidden directory, and links to what is in it.
func TestLoadReadsAMountedConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const hidden = "..2026_01_01"
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, hidden, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(imagesFile, "server: quay.io/demo/server:v2\n")
	write(patchFile, patchHead+"merge: {spec: {replicas: 2}}")
	write(replacement, replaced(digestOfDemo(t), "name: proxy", "name: sidecar"))
	for name, target := range map[string]string{"..data": hidden, imagesFile: "..data/" + imagesFile, patchesDir: "..data/" + patchesDir, templatesDir: "..data/" + templatesDir} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	o, err := Load(os.DirFS(dir))
	if err != nil {
		t.Fatalf("Load() error = %v", err)
	}
	if len(o.Images) != 1 || len(o.Patches) != 1 || len(o.Replacements) != 1 {
		t.Errorf("got %d images, %d patches, %d replacements, want one of each", len(o.Images), len(o.Patches), len(o.Replacements))
	}
	result, err := Verify(o, demoBase(), []render.Request{demoSample()})
	if err != nil || result.Err(PolicyStrict) != nil {
		t.Errorf("Verify() = %v, %v", result.Problems, err)
	}
}

func TestALinkToADirectoryAboveIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(".", filepath.Join(dir, patchesDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("Load() error = %v, want one about the depth", err)
	}
}

func TestOverlaidFilesAreAFileSystem(t *testing.T) {
	t.Parallel()
	base := fstest.MapFS{"a/one": {Data: []byte("base")}, "b/two": {Data: []byte("base")}, "b/four": {Data: []byte("base")}}
	over := overlaid{base: base, files: map[string][]byte{"b/two": []byte("over"), "c/three": []byte("over")}}
	for file, want := range map[string]string{"a/one": "base", "b/two": "over", "b/four": "base", "c/three": "over"} {
		content, err := fs.ReadFile(over, file)
		if err != nil || string(content) != want {
			t.Errorf("%s = %q, %v; want %q", file, content, err, want)
		}
	}
	var found []string
	err := fs.WalkDir(over, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, name)
		}
		return err
	})
	if want := "a/one b/four b/two c/three"; err != nil || strings.Join(found, " ") != want {
		t.Errorf("walk = %v, %v; want %s", found, err, want)
	}
	if _, err := over.ReadDir("nowhere"); err == nil {
		t.Error("ReadDir(nowhere) error = nil")
	}
}
