// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/config"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/kube"
	"github.com/opendatahub-io/maas-operator/test/postgres"
)

const page = "../../docs/reference/maas-api.md"

var update = flag.Bool("update", false, "rewrite the tables of the reference")

func TestSettingsAreDocumented(t *testing.T) { //nolint:paralleltest // It may rewrite the page.
	var want strings.Builder
	for _, group := range config.AllGroups() {
		want.WriteString("\n### " + string(group) + "\n\n| Flag | Variable | Default | Meaning |\n| --- | --- | --- | --- |\n")
		for _, s := range config.Settings() {
			if s.Group != group {
				continue
			}
			value := ""
			if s.Default != "" {
				value = "`" + s.Default + "`"
			}
			meaning := s.Usage
			if s.Deprecated != "" {
				meaning += " (deprecated: " + s.Deprecated + ")"
			}
			want.WriteString("| `--" + s.Flag + "` | `" + s.Env + "` | " + value + " | " + meaning + " |\n")
		}
	}
	want.WriteString("\n")
	documented(t, "settings", want.String())
}

func TestMetricsAreDocumented(t *testing.T) { //nolint:paralleltest // It may rewrite the page.
	rows := []string{}
	for _, d := range everyMetric(t) {
		rows = append(rows, "| `"+d.name+"` | "+d.labels+" | "+d.help+" |\n")
	}
	slices.Sort(rows)
	documented(t, "metrics", "\n| Metric | Labels | Meaning |\n| --- | --- | --- |\n"+strings.Join(slices.Compact(rows), "")+"\n")
}

// documented compares a part of the page with what it should say.
func documented(t *testing.T, part, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": begin; written by \"make golden\" -->\n", "<!-- "+part+": end -->"
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the page has no part %s", part)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s of the page are not current, run make golden (-want +got):\n%s", part, diff)
	}
}

type metric struct{ name, labels, help string }

// everyMetric returns the metrics of a service with a database, but for those of
// the libraries.
func everyMetric(t *testing.T) []metric {
	t.Helper()
	s := metricsOnly(t)
	descriptions := make(chan *prometheus.Desc, 1000)
	s.registry.Describe(descriptions)
	close(descriptions)
	form := regexp.MustCompile(`fqName: "([^"]+)", help: "(.*?)",(?: unit: ".*",)? constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}`)
	var found []metric
	for d := range descriptions {
		parts := form.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		if strings.HasPrefix(parts[1], "go_") || strings.HasPrefix(parts[1], "process_") || strings.HasPrefix(parts[1], "promhttp_") {
			continue
		}
		var labels []string
		for label := range strings.SplitSeq(parts[3]+","+parts[4], ",") {
			if label, _, _ = strings.Cut(label, "="); label != "" {
				labels = append(labels, "`"+label+"`")
			}
		}
		found = append(found, metric{name: parts[1], labels: strings.Join(labels, ", "), help: strings.ReplaceAll(parts[2], `\"`, `"`)})
	}
	return found
}

// metricsOnly is a service that has registered everything and serves nobody. It
// has a database, and an API server that does not exist.
func metricsOnly(t *testing.T) *service {
	t.Helper()
	database, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Stop(); err != nil {
			t.Error(err)
		}
	})
	url, err := database.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in := alone(t, &output{}, "--metrics-address=127.0.0.1:0", "--start-timeout=30s")
	if err := os.WriteFile(filepath.Clean(in.Config.DatabaseURLFile), []byte(url), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &service{in: in, config: in.Config, log: slog.New(slog.DiscardHandler), ended: make(chan error, 3)}
	running, end := context.WithCancel(context.WithoutCancel(t.Context()))
	s.background, s.running = errgroup.WithContext(running)
	s.endRunning = end
	t.Cleanup(func() {
		if err := s.stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	loaded, err := restConfig(in)
	if err != nil {
		t.Fatal(err)
	}
	if s.clients, err = kube.NewClients(loaded); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return s.observe(t.Context()) },
		s.followCluster,
		func() error { return s.openDatabase(t.Context()) },
		s.open,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
