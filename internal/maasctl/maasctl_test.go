// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package maasctl

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/overlay"
)

const deployment = "tenant/deployment-maas-api"

// outcome is what a command leaves behind.
type outcome struct {
	code     int
	out, err string
}

// run runs a command line.
func run(tb testing.TB, args ...string) outcome {
	tb.Helper()
	var out, errs bytes.Buffer
	code := Main(tb.Context(), append([]string{"maasctl"}, args...), strings.NewReader(""), &out, &errs)
	return outcome{code: code, out: out.String(), err: errs.String()}
}

// expect checks the exit code and texts in what was printed.
func (o outcome) expect(tb testing.TB, code int, texts ...string) {
	tb.Helper()
	if o.code != code {
		tb.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.out, o.err)
	}
	for _, text := range texts {
		if !strings.Contains(o.out+o.err, text) {
			tb.Errorf("output lacks %q\nstdout: %s\nstderr: %s", text, o.out, o.err)
		}
	}
}

// exported is an overlay with one template of this release, and its file.
func exported(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "templates", deployment+".yaml.tmpl")
	run(t, "templates", "export", deployment, "--overlay", dir).expect(t, ExitOK, file)
	return dir, file
}

// change replaces a text in a file, which must be there.
func change(t *testing.T, file, from, to string) {
	t.Helper()
	content, err := os.ReadFile(file) //nolint:gosec // A file of the test.
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), from) {
		t.Fatalf("%s lacks %q", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestListShowsEveryTemplate(t *testing.T) {
	t.Parallel()
	var rows []templateRow
	if err := json.Unmarshal([]byte(run(t, "templates", "list", "-o", "json").out), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(desired.Table()) {
		t.Errorf("%d rows, want %d", len(rows), len(desired.Table()))
	}
	if !slices.IsSortedFunc(rows, func(a, b templateRow) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
		t.Error("rows are not sorted by id")
	}
	run(t, "templates", "list").expect(t, ExitOK, "ID", deployment, "Deployment", "values.")
	run(t, "templates", "list", "-o", "xml").expect(t, ExitFailure, "table, yaml, json")
}

func TestShowPrintsTheTemplateAsItIs(t *testing.T) {
	t.Parallel()
	run(t, "templates", "show", deployment).expect(t, ExitOK, "kind: Deployment")
	run(t, "templates", "show", "tenant/deployment-none").expect(t, ExitInvalid, "no template tenant/deployment-none", "templates list")
}

func TestExportLeavesChangesAlone(t *testing.T) {
	t.Parallel()
	dir, file := exported(t)
	change(t, file, "kind: Deployment", "kind: Deployment # ours")
	run(t, "templates", "export", deployment, "--overlay", dir).expect(t, ExitFailure, file, "is there already")
	run(t, "templates", "show", deployment)
	content, err := os.ReadFile(file) //nolint:gosec // A file of the test.
	if err != nil || !strings.Contains(string(content), "# ours") {
		t.Errorf("the changed template is gone: %v", err)
	}
}

func TestAnExportedTemplateThatIsChangedIsInOrder(t *testing.T) {
	t.Parallel()
	dir, file := exported(t)
	run(t, "overlay", "verify", dir).expect(t, ExitInvalid, "NoOp", "remove the file")
	run(t, "overlay", "verify", dir, "--policy", "warn").expect(t, ExitOK, "NoOp")
	change(t, file, "spec:\n", "spec:\n  minReadySeconds: 7\n")
	run(t, "overlay", "verify", dir).expect(t, ExitOK, "1 replaced templates")
	run(t, "templates", "lint", "--overlay", dir).expect(t, ExitOK, "in order")
	run(t, "overlay", "verify", dir, "-o", "json").expect(t, ExitOK, "[]")
}

func TestVerifyTellsFaultsByTheirExitCode(t *testing.T) {
	t.Parallel()
	dir, file := exported(t)
	change(t, file, "@sha256:", "@sha256:"+strings.Repeat("0", 64)+"#")
	run(t, "overlay", "verify", dir).expect(t, ExitInvalid, "# overrides:")

	dir, file = staleOverlay(t)
	run(t, "overlay", "verify", dir).expect(t, ExitStale, "overlay rebase")
	run(t, "overlay", "verify", dir, "--policy", "warn").expect(t, ExitOK, "Stale")
	change(t, file, "kind: Deployment", "kind: StatefulSet")
	run(t, "overlay", "verify", dir).expect(t, ExitInvalid, "StatefulSet")
	run(t, "overlay", "verify", filepath.Join(dir, "nowhere")).expect(t, ExitFailure, "nowhere")
	run(t, "overlay", "verify", dir, "--policy", "lax").expect(t, ExitFailure, "strict or warn")
}

// staleOverlay is an overlay that was made when the template had one line less, and that
// changes another line.
func staleOverlay(t *testing.T) (dir, file string) {
	t.Helper()
	dir, file = exported(t)
	base := filepath.Join(dir, ".base", deployment+".yaml.tmpl")
	const later = "kind: Deployment\n"
	for _, f := range []string{file, base} {
		change(t, f, later, later+"# a line of the former release\n")
	}
	change(t, file, "spec:\n", "spec:\n  minReadySeconds: 7\n")
	engine, err := upstream()
	if err != nil {
		t.Fatal(err)
	}
	change(t, file, engine.Digests()[deployment], strings.Repeat("0", 64))
	return dir, file
}

func TestRebaseMergesWhatTheReleaseChanged(t *testing.T) {
	t.Parallel()
	dir, file := staleOverlay(t)
	run(t, "overlay", "rebase", dir, "--dry-run").expect(t, ExitOK, "-# a line of the former release")
	run(t, "overlay", "verify", dir).expect(t, ExitStale)
	run(t, "overlay", "rebase", dir).expect(t, ExitOK, "-# a line of the former release")
	run(t, "overlay", "verify", dir).expect(t, ExitOK)
	content, err := os.ReadFile(file) //nolint:gosec // A file of the test.
	if err != nil {
		t.Fatal(err)
	}
	if text := string(content); strings.Contains(text, "former release") || !strings.Contains(text, "minReadySeconds: 7") {
		t.Errorf("the merged template is\n%s", text)
	}
	run(t, "overlay", "rebase", dir).expect(t, ExitOK, "is current")
}

func TestRebaseRefusesWhatBothSidesChanged(t *testing.T) {
	t.Parallel()
	dir, file := staleOverlay(t)
	change(t, file, "# a line of the former release", "# our line")
	before, err := os.ReadFile(file) //nolint:gosec // A file of the test.
	if err != nil {
		t.Fatal(err)
	}
	run(t, "overlay", "rebase", dir).expect(t, ExitInvalid, "same lines", "by hand", "-# a line of the former release")
	after, err := os.ReadFile(file) //nolint:gosec // A file of the test.
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the template was changed: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, ".base")); err != nil {
		t.Fatal(err)
	}
	run(t, "overlay", "rebase", dir).expect(t, ExitInvalid, ".base")
}

func TestTheLockTellsReleasesApart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "LOCK")
	text := run(t, "templates", "lock").out
	lock, err := overlay.ReadLock([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	write := func(l overlay.Lock) {
		t.Helper()
		if err := os.WriteFile(file, l.Marshal(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(lock)
	run(t, "templates", "diff", file).expect(t, ExitOK)
	lock.Templates[deployment] = strings.Repeat("0", 64)
	lock.Templates["tenant/deployment-former"] = strings.Repeat("0", 64)
	delete(lock.Templates, "tenant/service-maas-api")
	write(lock)
	run(t, "templates", "diff", file).expect(t, ExitDifference, "changed", deployment, "removed", "tenant/deployment-former", "added", "tenant/service-maas-api")
	if err := os.WriteFile(file, []byte("a: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "templates", "lock", "--check", file).expect(t, ExitInvalid, file)
	run(t, "templates", "lock", "--check", file+".none").expect(t, ExitFailure, file+".none")
}

func TestThePluginOfKubectlCallsItselfThat(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := Main(t.Context(), []string{"/usr/local/bin/kubectl-maas", "overlay", "verify", "--help"}, nil, &out, &errs)
	if code != ExitOK || !strings.Contains(out.String(), "kubectl maas overlay verify DIR") {
		t.Errorf("exit code %d, help:\n%s", code, out.String())
	}
	run(t, "--version").expect(t, ExitOK, "maasctl version")
	run(t, "templates", "nonsense").expect(t, ExitFailure, "nonsense")
}
