// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
	"github.com/opendatahub-io/maas-operator/test/golden"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

const root = "../.."

func input() monitoring.Input {
	return monitoring.Input{
		Platform: "openshift", ControllerNamespace: "opendatahub", InfraNamespace: "redhat-ai-gateway-infra",
		GatewayNamespace: "openshift-ingress", MonitoringNamespace: "redhat-ods-monitoring",
	}
}

func requests(t *testing.T) []render.Request {
	t.Helper()
	out, err := monitoring.Build(input())
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	return out.Requests
}

// alerts are all alerts by name, each with the group it is in.
func alerts(t *testing.T) map[string]values.Alert {
	t.Helper()
	found := map[string]values.Alert{}
	for _, request := range requests(t) {
		rules, ok := request.Values.(values.AlertRules)
		if !ok {
			continue
		}
		for _, alert := range rules.Alerts {
			if _, twice := found[alert.Name]; twice {
				t.Errorf("two alerts are named %s", alert.Name)
			}
			found[alert.Name] = alert
		}
	}
	if len(found) == 0 {
		t.Fatal("there are no alerts")
	}
	return found
}

// queries are those of the dashboards by the name of their panel or column.
func queries(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, request := range requests(t) {
		if dashboard, ok := request.Values.(values.UsageDashboard); ok {
			found["tokens-over-time"] = dashboard.TokensOverTime
			for _, panel := range slices.Concat(dashboard.Totals, dashboard.Table) {
				found[panel.Key] = panel.Query
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("there are no queries")
	}
	return found
}

// substituted is a query as the dashboard sends it, with some of the variables set and
// all values of the others chosen.
func substituted(query string, set map[string]string) string {
	all := map[string]string{"__range": "1h", "user": ".*", "subscription": ".*", "model": ".*", "view_by": "model"}
	for name, value := range all {
		if chosen, ok := set[name]; ok {
			value = chosen
		}
		query = strings.ReplaceAll(query, "$"+name, value)
	}
	return query
}

// writeRules writes the groups of all PrometheusRules, as rendered, to a file that
// promtool reads.
func writeRules(t *testing.T, file string) {
	t.Helper()
	objects, err := parts.Engine(t).RenderAll(requests(t))
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	var groups []any
	for _, object := range objects {
		if object.GetKind() != "PrometheusRule" {
			continue
		}
		spec, ok := object.Object["spec"].(map[string]any)
		if !ok {
			t.Fatalf("%s has no spec", object.GetName())
		}
		list, ok := spec["groups"].([]any)
		if !ok {
			t.Fatalf("%s has no groups", object.GetName())
		}
		groups = append(groups, list...)
	}
	text, err := golden.Marshal(map[string]any{"groups": groups})
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, text)
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tool runs a program of bin/tools, and fails the test when that fails.
func tool(t *testing.T, stdin []byte, name string, args ...string) []byte {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(root, "bin", "tools", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: build it with \"make bin/tools/%s\"", err, name)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.Bytes()
}

// report is what an expression asks for, as promselectors says.
type report struct {
	Selectors []selector `json:"selectors"`
	Labels    []string   `json:"labels"`
}

type selector struct {
	Metric   string    `json:"metric"`
	Pattern  string    `json:"pattern"`
	Matchers []matcher `json:"matchers"`
}

type matcher struct {
	Label string `json:"label"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

// asked reports on all expressions of alerts and dashboards.
func asked(t *testing.T) map[string]report {
	t.Helper()
	expressions := map[string]string{}
	for name, alert := range alerts(t) {
		expressions["alert "+name] = alert.Expr
	}
	for name, query := range queries(t) {
		expressions["query "+name] = substituted(query, nil)
	}
	stdin, err := json.Marshal(expressions)
	if err != nil {
		t.Fatal(err)
	}
	var reports map[string]report
	if err := json.Unmarshal(tool(t, stdin, "promselectors"), &reports); err != nil {
		t.Fatalf("read the answer of promselectors: %v", err)
	}
	return reports
}
