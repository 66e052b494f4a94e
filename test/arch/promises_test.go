// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/test/arch"
)

func TestMakefileChecks(t *testing.T) {
	t.Parallel()
	const good = ".PHONY: help\nhelp: ## Show this list\n\t@true\n"
	tests := map[string]struct {
		makefile string
		want     string
	}{
		"a phony target with a help line passes": {
			makefile: good,
		},
		"an assignment is no target": {
			makefile: good + "name := value\n",
		},
		"a target without a help line is found": {
			makefile: good + ".PHONY: run\nrun: help\n\t@true\n", want: "Makefile: target run has no help line",
		},
		"a target that is not phony is found": {
			makefile: good + "run: ## Run\n\t@true\n", want: "Makefile: target run is not declared .PHONY",
		},
		"a phony name without a target is found": {
			makefile: good + ".PHONY: run\n", want: "Makefile: .PHONY names run",
		},
		"another first target is found": {
			makefile: ".PHONY: run\nrun: ## Run\n" + good, want: "Makefile: help is not the first target",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolation(t, arch.CheckMakefile(map[string][]byte{"Makefile": []byte(tc.makefile)}), tc.want)
		})
	}
}

func TestNamedTargetChecks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file, text, want string
	}{
		"existing targets and variables pass":         {file: "README.md", text: "```\nmake run ONCE=1\n```\nor `make run`.\n"},
		"prose that goes on after a call passes":      {file: "README.md", text: "`make run ONCE=1` ends after the table.\nOthers\nmake up for it.\n"},
		"prose that only contains the word passes":    {file: "README.md", text: "These make things work.\n"},
		"a missing target in a document is found":     {file: "README.md", text: "Try `make rum`.\n", want: "README.md: there is no target rum"},
		"a missing target in a code block is found":   {file: "README.md", text: "```\nmake run tset\n```\n", want: "README.md: there is no target tset"},
		"a missing target in the CI script is found":  {file: ".ci/run", text: "step make tset\n", want: ".ci/run: there is no target tset"},
		"a file that is neither is not looked at":     {file: "a.go", text: "make rum\n"},
		"a missing target in another script is found": {file: "hack/a.sh", text: "\tmake rum\n", want: "hack/a.sh: there is no target rum"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{"Makefile": []byte("run: ## Run\n"), tc.file: []byte(tc.text)}
			wantViolation(t, arch.CheckTargetsNamed(files), tc.want)
		})
	}
}

func TestProjectChecks(t *testing.T) {
	t.Parallel()
	const (
		project = `
repo: example.com/op
resources:
- api: {namespaced: true}
  domain: example.com
  group: maas
  kind: Model
  path: example.com/op/api/v1
  version: v1
`
		crd = `
spec:
  group: maas.example.com
  scope: Namespaced
  names: {kind: Model}
  versions: [{name: v1}]
`
	)
	tests := map[string]struct {
		change map[string]string
		want   string
	}{
		"equal lists pass": {},
		"a kind without a CRD is found": {
			change: map[string]string{"config/crd/bases/model.yaml": "spec: {}"},
			want:   "PROJECT lists namespaced Model.maas.example.com/v1, which no CRD defines",
		},
		"a CRD that is not listed is found": {
			change: map[string]string{"config/crd/bases/other.yaml": strings.ReplaceAll(crd, "kind: Model", "kind: Other")},
			want:   "PROJECT does not list namespaced Other.maas.example.com/v1",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{
				"PROJECT":                     []byte(project),
				"config/crd/bases/model.yaml": []byte(crd),
				"api/v1/model.go":             nil,
			}
			for f, text := range tc.change {
				files[f] = []byte(text)
			}
			wantViolation(t, arch.CheckProject(files), tc.want)
		})
	}
}

func TestProjectCheckFindsWrongScope(t *testing.T) {
	t.Parallel()
	found := arch.CheckProject(map[string][]byte{
		"PROJECT":              []byte("repo: r\nresources:\n- {domain: d, group: g, kind: K, version: v1, path: r/api}\n"),
		"api/k.go":             nil,
		"config/crd/bases/k.y": []byte("spec: {group: g.d, scope: Namespaced, names: {kind: K}, versions: [{name: v1}]}"),
	})
	if len(found) != 2 {
		t.Errorf("found %q, want the listed and the defined kind", found)
	}
}

func TestProjectCheckFindsMissingPackage(t *testing.T) {
	t.Parallel()
	found := arch.CheckProject(map[string][]byte{
		"PROJECT":              []byte("repo: r\nresources:\n- {domain: d, group: g, kind: K, version: v1, path: r/api}\n"),
		"config/crd/bases/k.y": []byte("spec: {group: g.d, scope: Cluster, names: {kind: K}, versions: [{name: v1}]}"),
	})
	if len(found) == 0 || !strings.Contains(found[0], "missing package r/api") {
		t.Errorf("found %q, want the missing package", found)
	}
}

func TestRoleChecks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules string
		want  string
	}{
		"named resources and verbs pass":    {rules: "- {resources: [secrets], verbs: [get]}"},
		"a wildcard verb is found":          {rules: "- {resources: [secrets], verbs: ['*']}", want: `config/rbac/role.yaml: ClusterRole grants "*"`},
		"a wildcard resource is found":      {rules: "- {resources: ['*'], verbs: [get]}", want: `config/rbac/role.yaml: ClusterRole grants "*"`},
		"escalation is found":               {rules: "- {resources: [roles], verbs: [escalate]}", want: `config/rbac/role.yaml: ClusterRole grants "escalate"`},
		"impersonation is found":            {rules: "- {resources: [users], verbs: [impersonate]}", want: `config/rbac/role.yaml: ClusterRole grants "impersonate"`},
		"a rule in a second object is seen": {rules: "[]\n---\nkind: Role\nrules:\n- {resources: [roles], verbs: [bind]}", want: `config/rbac/role.yaml: Role grants "bind"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "kind: ClusterRole\nrules:\n" + tc.rules + "\n"
			if strings.HasPrefix(tc.rules, "[]") {
				text = "kind: ClusterRole\nrules: " + tc.rules + "\n"
			}
			wantViolation(t, arch.CheckRole(map[string][]byte{"config/rbac/role.yaml": []byte(text)}), tc.want)
		})
	}
}

func TestChangeNoteChecks(t *testing.T) {
	t.Parallel()
	const good = "kind: fix\narea: api\nnote: It works.\nissues: [1]\n"
	tests := map[string]struct {
		note, want string
	}{
		"a complete note passes":           {note: good},
		"an unknown kind is found":         {note: strings.Replace(good, "fix", "oops", 1), want: ".changelog/1-a.yaml: kind is none of"},
		"an unknown field is found":        {note: good + "sise: big\n", want: ".changelog/1-a.yaml does not parse"},
		"a missing issue is found":         {note: strings.Replace(good, "[1]", "[]", 1), want: ".changelog/1-a.yaml: area, note and issues"},
		"a note that is no sentence fails": {note: strings.Replace(good, "works.", "works", 1), want: ".changelog/1-a.yaml: note is not"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolation(t, arch.CheckChangeNotes(map[string][]byte{".changelog/1-a.yaml": []byte(tc.note)}), tc.want)
		})
	}
}

// make warns about undefined variables and goes on; the warning would scroll
// by, so it is an error here.
func TestNoTargetUsesAnUndefinedVariable(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\.PHONY: (\S+)$`).FindAllSubmatch(makefile, -1) {
		targets[string(m[1])] = true
	}
	if len(targets) == 0 {
		t.Fatal("the Makefile declares no target")
	}
	for target := range maps.Keys(targets) {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "make", "--dry-run", target)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("make --dry-run %s: %v\n%s", target, err, out)
			}
			if strings.Contains(string(out), "warning: undefined variable") {
				t.Errorf("make --dry-run %s warns:\n%s", target, out)
			}
		})
	}
}

func TestHelpListsEveryTarget(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "help")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make help: %v", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\.PHONY: (\S+)$`).FindAllStringSubmatch(string(makefile), -1) {
		if !regexp.MustCompile(`(?m)^  ` + m[1] + ` +\S`).Match(out) {
			t.Errorf("make help does not list %s", m[1])
		}
	}
}

// TestGapChecks keeps documents from describing what earlier releases did (A97).
func TestGapChecks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, text, want string }{
		"a policy that is changed in place passes":      {file: "docs/a.md", text: "The policy is changed in place.\n"},
		"a subscription that users create again passes": {file: "docs/a.md", text: "A subscription that is deleted and created again starts anew.\n"},
		"code is not meant":                             {file: "a.go", text: "// The policy is deleted and rebuilt.\n"},
		"a policy that is rebuilt is found":             {file: "docs/a.md", text: "The policy is deleted, then rebuilt.\n", want: "docs/a.md:1 says that a policy"},
		"a policy that is recreated is found":           {file: "README.md", text: "# x\nRemoving and recreating the Policy\n", want: "README.md:2 says that a policy"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolation(t, arch.CheckNoGap(map[string][]byte{tc.file: []byte(tc.text)}), tc.want)
		})
	}
}
