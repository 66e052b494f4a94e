// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // Registers the metrics of controllers.
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/httpapi/callback"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
	"github.com/opendatahub-io/maas-operator/test/golden"
)

// foreignMetric is an entry of testdata/foreign.yaml.
type foreignMetric struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
	// Counter: a collector adds _total to the name.
	Counter bool `json:"counter"`
	// Histogram: the series are of buckets.
	Histogram bool `json:"histogram"`
	// Source is a page; Module and File are where the name is found in this build.
	Source string `json:"source"`
	Module string `json:"module"`
	File   string `json:"file"`
	// Target are labels that monitors add.
	Target []string `json:"target"`
	// Port of Pods with these labels serves metrics at Path.
	Port string            `json:"port"`
	Path string            `json:"path"`
	Pods map[string]string `json:"pods"`
}

func foreign(t *testing.T) []foreignMetric {
	t.Helper()
	return golden.Load[[]foreignMetric](t, "testdata/foreign.yaml")
}

// exposed are the labels of every metric that may be asked for, by name.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	all := ofController(t)
	maps.Copy(all, ofService(t))
	var target []string
	for _, m := range foreign(t) {
		target = append(target, m.Target...)
		if m.Metric == "" {
			continue
		}
		if m.Histogram {
			all[m.Metric+"_bucket"] = append(slices.Clone(m.Labels), "le")
			continue
		}
		all[m.Metric] = m.Labels
		if m.Counter {
			all[m.Metric+"_total"] = m.Labels
		}
	}
	for name, labels := range all {
		all[name] = slices.Concat(labels, target)
	}
	return all
}

// add notes a metric of ours. Histograms are told by their names, and have buckets.
func add(found map[string][]string, name string, labels []string) {
	if strings.HasSuffix(name, "_duration_seconds") || strings.HasSuffix(name, "_delay_seconds") {
		found[name+"_bucket"] = append(slices.Clone(labels), "le")
		return
	}
	found[name] = labels
}

var description = regexp.MustCompile(`fqName: "([^"]+)", help: ".*?",(?: unit: ".*",)? constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}`)

// ofController are the metrics that maas-controller registers.
func ofController(t *testing.T) map[string][]string {
	t.Helper()
	registry, ok := ctrlmetrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatalf("the registry of controller-runtime, %T, does not describe itself", ctrlmetrics.Registry)
	}
	descriptions := make(chan *prometheus.Desc, 1000)
	registry.Describe(descriptions)
	metrics.New(clock.RealClock{}).Describe(descriptions)
	close(descriptions)
	found := map[string][]string{}
	for d := range descriptions {
		parts := description.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		var labels []string
		for label := range strings.SplitSeq(parts[2]+","+parts[3], ",") {
			if label, _, _ = strings.Cut(label, "="); label != "" {
				labels = append(labels, label)
			}
		}
		add(found, parts[1], labels)
	}
	if len(found) == 0 {
		t.Fatal("maas-controller has no metrics")
	}
	return found
}

// ofService are the metrics of maas-api, from the page that is compared with what the
// program registers, in cmd/maas-api.
func ofService(t *testing.T) map[string][]string {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, root+"/docs/reference/maas-api.md"), "<!-- metrics: begin;")
	table, _, ok := strings.Cut(rest, "<!-- metrics: end -->")
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*) \\|")
	rows := row.FindAllStringSubmatch(table, -1)
	if !ok || len(rows) == 0 {
		t.Fatal("the page has no table of metrics")
	}
	found := map[string][]string{}
	for _, r := range rows {
		var labels []string
		for label := range strings.SplitSeq(r[2], ",") {
			if label = strings.Trim(label, " `"); label != "" {
				labels = append(labels, label)
			}
		}
		add(found, r[1], labels)
	}
	return found
}

// TestEveryMetricAndLabelExists looks at all that alerts and queries ask for.
func TestEveryMetricAndLabelExists(t *testing.T) {
	t.Parallel()
	known := exposed(t)
	used := map[string]bool{}
	for name, asks := range asked(t) {
		var labels []string
		for _, s := range asks.Selectors {
			metrics := matching(known, s)
			if len(metrics) == 0 {
				t.Errorf("%s asks for %q%q, which no program exposes", name, s.Metric, s.Pattern)
			}
			for _, metric := range metrics {
				used[metric], labels = true, append(labels, known[metric]...)
				for _, m := range s.Matchers {
					if !slices.Contains(known[metric], m.Label) {
						t.Errorf("%s selects %s by label %s, which it has not", name, metric, m.Label)
					}
				}
			}
		}
		for _, label := range asks.Labels {
			if !slices.Contains(labels, label) {
				t.Errorf("%s groups by label %s, which none of its metrics has", name, label)
			}
		}
	}
	for _, m := range foreign(t) {
		if m.Metric != "" && !used[m.Metric] && !used[m.Metric+"_bucket"] {
			t.Errorf("nothing asks for %s, which testdata/foreign.yaml lists", m.Metric)
		}
	}
}

// matching are the metrics that a selector selects.
func matching(known map[string][]string, s selector) []string {
	if s.Pattern == "" {
		if _, ok := known[s.Metric]; !ok {
			return nil
		}
		return []string{s.Metric}
	}
	pattern := regexp.MustCompile("^(?:" + s.Pattern + ")$")
	return slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(name string) bool { return !pattern.MatchString(name) })
}

// TestTheValuesOfOurLabelsExist compares what selectors want of labels of ours with the
// values that the programs give them.
func TestTheValuesOfOurLabelsExist(t *testing.T) {
	t.Parallel()
	outcomes := map[string][]string{}
	for _, label := range metrics.Labels() {
		for _, value := range label.Values {
			outcomes[label.Family] = append(outcomes[label.Family], value.Value)
		}
	}
	seen := 0
	for name, asks := range asked(t) {
		for _, s := range asks.Selectors {
			for _, m := range s.Matchers {
				if m.Label == "outcome" && strings.HasPrefix(s.Metric, "maas_") && outcomes[s.Metric] != nil {
					seen++
					if !slices.Contains(outcomes[s.Metric], m.Value) {
						t.Errorf("%s wants outcome %q of %s, want one of %v", name, m.Value, s.Metric, outcomes[s.Metric])
					}
				}
				if m.Label == "route" {
					seen++
					if !strings.Contains(m.Value, callback.SelectPath) || !strings.Contains(m.Value, validatePath(t)) {
						t.Errorf("%s wants route %s, want the callbacks %s and %s", name, m.Value, callback.SelectPath, validatePath(t))
					}
				}
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d values were compared", seen)
	}
}

func validatePath(t *testing.T) string {
	t.Helper()
	routes := (&callback.Validate{}).Routes()
	if len(routes) != 1 {
		t.Fatalf("the callback about keys has %d routes", len(routes))
	}
	return routes[0].Pattern
}

// TestTheEvaluatorsTellTheirMetrics: Authorino says nothing of an evaluator whose metrics
// are off, and the policy of each model decides that.
func TestTheEvaluatorsTellTheirMetrics(t *testing.T) {
	t.Parallel()
	wanted := regexp.MustCompile(`evaluator_name=~"([^"]+)"`).FindStringSubmatch(alerts(t)["MaaSAuthorinoMetadataEvaluatorHighFailureRate"].Expr)
	if wanted == nil {
		t.Fatal("the alert names no evaluators")
	}
	seen := 0
	for text := range strings.SplitSeq(read(t, root+"/test/golden/model/testdata/four-subscriptions/out.yaml"), "\n---\n") {
		policy := decode[struct {
			Kind string `json:"kind"`
			Spec struct {
				Rules struct {
					Metadata map[string]struct {
						Metrics bool `json:"metrics"`
					} `json:"metadata"`
				} `json:"rules"`
			} `json:"spec"`
		}](t, []byte(text))
		if policy.Kind != "AuthPolicy" {
			continue
		}
		for name := range strings.SplitSeq(wanted[1], "|") {
			seen++
			if !policy.Spec.Rules.Metadata[name].Metrics {
				t.Errorf("the policy of a model has no evaluator %s, or its metrics are off", name)
			}
		}
	}
	if seen == 0 {
		t.Error("the golden file has no AuthPolicy")
	}
}

// TestForeignMetricsAreInTheirSources finds each name in the module that is said to have
// it, and wants a page for those that are in none.
func TestForeignMetricsAreInTheirSources(t *testing.T) {
	t.Parallel()
	found := 0
	for _, m := range foreign(t) {
		if m.Module == "" {
			if !strings.HasPrefix(m.Source, "https://") {
				t.Errorf("%s%v has no source", m.Metric, m.Target)
			}
			continue
		}
		found++
		if !strings.Contains(read(t, filepath.Join(directory(t, m.Module), m.File)), m.Metric) {
			t.Errorf("%s of %s does not contain %s", m.File, m.Module, m.Metric)
		}
	}
	if found == 0 {
		t.Error("no metric is in a module")
	}
}

// directory is where a module of hack/crds is unpacked; "make deps" and "make crds"
// download it.
func directory(t *testing.T, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root + "/hack/crds"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if r.Path != module {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", r.Path+"@"+r.Version)
		cmd.Dir = root + "/hack/crds"
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go mod download %s: %v", module, err)
		}
		var unpacked struct{ Dir string }
		if err := json.Unmarshal(out, &unpacked); err != nil || unpacked.Dir == "" {
			t.Fatalf("go mod download %s: no directory, %v", module, err)
		}
		return unpacked.Dir
	}
	t.Fatalf("hack/crds does not require %s", module)
	return ""
}
