// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// caseFiles are the files of cases, in the form of "promtool test rules".
func caseFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("find cases: %d files, %v", len(files), err)
	}
	return files
}

// TestPromtoolAcceptsTheRules has Prometheus parse each expression and the templates of
// each annotation.
func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	writeRules(t, file)
	tool(t, nil, "promtool", "check", "rules", "--lint=all", "--lint-fatal", file)
}

// collected are the counters of others to whose names an OpenTelemetry collector adds an
// ending.
func collected(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, m := range foreign(t) {
		if m.Counter {
			names = append(names, m.Metric)
		}
	}
	return names
}

// given are the labels that Prometheus itself gives to what it reads.
var given = regexp.MustCompile(`([{,])(job|instance|namespace|pod|service|container|endpoint)="`)

// handedOn is a line of a case as it is where a collector reads what monitors name, and is
// read itself: its own labels take the place of those of its targets, which are renamed.
func handedOn(line string) string {
	if !strings.Contains(line, "{series: '") {
		return line
	}
	line = given.ReplaceAllString(line, `${1}exported_$2="`)
	name, labels, has := strings.Cut(strings.SplitAfterN(line, "{series: '", 2)[1], "{")
	if !has || strings.Contains(name, "'") {
		return line
	}
	return strings.Replace(line, name+"{"+labels, name+`{job="data-science-collector",namespace="mon",pod="collector-0",container="otc",endpoint="prom",service="collector",`+labels, 1)
}

// TestAlertsAndQueriesOnSeries runs the cases, with names of counters and labels as
// Prometheus reads them and as a collector hands them on.
func TestAlertsAndQueriesOnSeries(t *testing.T) {
	t.Parallel()
	plain := func(text string) string { return text }
	renamed := regexp.MustCompile(`\b(` + strings.Join(collected(t), "|") + `)\{`)
	for _, file := range caseFiles(t) {
		for name, rename := range map[string]func(string) string{
			"as told": plain, "as collected": func(text string) string {
				var lines strings.Builder
				for line := range strings.Lines(renamed.ReplaceAllString(text, "${1}_total{")) {
					lines.WriteString(handedOn(line))
				}
				return lines.String()
			},
		} {
			t.Run(filepath.Base(file)+" "+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				writeRules(t, filepath.Join(dir, "rules.yaml"))
				cases := filepath.Join(dir, filepath.Base(file))
				write(t, cases, []byte(withQueries(t, rename(read(t, file)))))
				tool(t, nil, "promtool", "test", "rules", cases)
			})
		}
	}
}

var placeholder = regexp.MustCompile(`@([a-z0-9 #-]+)\(([^)]*)\)`)

// withQueries puts the queries of dashboards where a case names them.
func withQueries(t *testing.T, text string) string {
	t.Helper()
	known := queries(t)
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		query, ok := known[parts[1]]
		if !ok {
			t.Fatalf("a case names the panel %q, which there is not", parts[1])
		}
		set := map[string]string{}
		for pair := range strings.SplitSeq(parts[2], ",") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				set[name] = value
			}
		}
		// In a YAML string with single quotes.
		return strings.ReplaceAll(substituted(query, set), "'", "''")
	})
}

// caseFile is what the next tests read of the cases.
type caseFile struct {
	Tests []struct {
		Name string `json:"name"`
		Expr []struct {
			Expr    string `json:"expr"`
			Samples []struct {
				Labels string `json:"labels"`
			} `json:"exp_samples"`
		} `json:"promql_expr_test"`
	} `json:"tests"`
}

var firing = regexp.MustCompile(`^ALERTS\{alertname="([A-Za-z]+)",alertstate="firing"\}$`)

// TestEachAlertIsSeenToFireAndToBeSilent, with the labels that its texts name.
func TestEachAlertIsSeenToFireAndToBeSilent(t *testing.T) {
	t.Parallel()
	fired, silent := map[string][]string{}, map[string]bool{}
	for _, file := range caseFiles(t) {
		var cases caseFile
		if err := yaml.Unmarshal([]byte(read(t, file)), &cases); err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		for _, group := range cases.Tests {
			for _, e := range group.Expr {
				name := firing.FindStringSubmatch(e.Expr)
				switch {
				case name == nil:
				case len(e.Samples) == 0:
					silent[name[1]] = true
				default:
					for _, s := range e.Samples {
						fired[name[1]] = append(fired[name[1]], s.Labels)
					}
				}
			}
		}
	}
	label := regexp.MustCompile(`\$labels\.([a-z_]+)`)
	for name, alert := range alerts(t) {
		if len(fired[name]) == 0 || !silent[name] {
			t.Errorf("%s is seen to fire %d times, and to be silent: %t", name, len(fired[name]), silent[name])
		}
		for _, used := range label.FindAllStringSubmatch(alert.Summary+alert.Description, -1) {
			if slices.ContainsFunc(fired[name], func(labels string) bool { return !strings.Contains(labels, ","+used[1]+`="`) }) {
				t.Errorf("the text of %s names label %s, which it has not when it fires as %q", name, used[1], fired[name])
			}
		}
	}
}

// TestEachQueryIsRun makes sure that no panel is left out of the cases.
func TestEachQueryIsRun(t *testing.T) {
	t.Parallel()
	text := read(t, "testdata/usage.test.yaml")
	for name := range queries(t) {
		if !strings.Contains(text, "@"+name+"(") {
			t.Errorf("no case runs the query of %s", name)
		}
	}
}
