// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired/monitoring"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

func input(change ...func(*monitoring.Input)) monitoring.Input {
	in := monitoring.Input{
		Platform: "openshift", ControllerNamespace: "opendatahub", InfraNamespace: "odh-ai-gateway-infra",
		GatewayNamespace: "openshift-ingress", MonitoringNamespace: "redhat-ods-monitoring",
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func build(t *testing.T, in monitoring.Input) monitoring.Output {
	t.Helper()
	out, err := monitoring.Build(in)
	if err != nil {
		t.Fatalf("Build() error = %v", err)
	}
	return out
}

func valuesOf[T any](t *testing.T, out monitoring.Output, id render.ID) T {
	t.Helper()
	i := slices.IndexFunc(out.Requests, func(r render.Request) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("nothing of %s is wanted", id)
	}
	v, ok := out.Requests[i].Values.(T)
	if !ok {
		t.Fatalf("%s has values %T", id, out.Requests[i].Values)
	}
	return v
}

func TestTheIntervalIsTheConfigs(t *testing.T) { // E-155
	t.Parallel()
	for setting, want := range map[string]string{"": "30s", "15s": "15s"} {
		out := build(t, input(func(in *monitoring.Input) { in.LimitadorInterval = setting }))
		if got := valuesOf[values.Monitor](t, out, monitoring.LimitadorTemplate).Interval; got != want || len(out.Warnings) > 0 {
			t.Errorf("with %q the interval is %q, want %q; warnings %q", setting, got, want, out.Warnings)
		}
	}
	out := build(t, input(func(in *monitoring.Input) { in.LimitadorInterval = "0s" }))
	if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "spec.limitadorScrapeInterval") {
		t.Errorf("warnings are %q", out.Warnings)
	}
}

func TestWithoutMonitoringNothingIsWanted(t *testing.T) { // E-157
	t.Parallel()
	out := build(t, input(func(in *monitoring.Input) { in.MonitoringNamespace = "" }))
	if diff := cmp.Diff(monitoring.Output{}, out); diff != "" {
		t.Errorf("Build() (-want +got):\n%s", diff)
	}
}

func TestAPlatformThatIsNone(t *testing.T) {
	t.Parallel()
	if _, err := monitoring.Build(input(func(in *monitoring.Input) { in.Platform = "auto" })); err == nil {
		t.Error("Build() error = nil")
	}
}

// The objects are all in the one namespace, with labels by which they are found again;
// the collector of the platform reads the monitors and nothing else.
func TestEveryObjectIsTheInstallations(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range build(t, input()).Requests {
		if r.Namespace != "redhat-ods-monitoring" || r.Name == "" || seen[string(r.ID)] {
			t.Errorf("%s is %s/%s", r.ID, r.Namespace, r.Name)
		}
		seen[string(r.ID)] = true
		labels := metaOf(t, r.Values).Labels
		if labels["maas.opendatahub.io/config"] != "default" || labels["app.kubernetes.io/managed-by"] != "maas-controller" {
			t.Errorf("%s has labels %v", r.ID, labels)
		}
		if scraped := labels["monitoring.opendatahub.io/scrape"] == "true"; scraped != strings.Contains(string(r.ID), "monitor-") {
			t.Errorf("%s is read by the collector: %t", r.ID, scraped)
		}
	}
}

func metaOf(t *testing.T, v any) values.Meta {
	t.Helper()
	switch v := v.(type) {
	case values.Monitor:
		return v.Meta
	case values.ControllerMonitor:
		return v.Meta
	case values.AlertRules:
		return v.Meta
	case values.UsageDashboard:
		return v.Meta
	default:
		t.Fatalf("%T has no metadata", v)
		return values.Meta{}
	}
}

// alerts are all alerts.
func alerts(t *testing.T) []values.Alert {
	t.Helper()
	var all []values.Alert
	for _, r := range build(t, input()).Requests {
		if rules, ok := r.Values.(values.AlertRules); ok {
			all = append(all, rules.Alerts...)
		}
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

// TestEachAlertHasASectionInTheGuide, each section an alert, and each alert a severity.
func TestEachAlertHasASectionInTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../" + monitoring.Guide)
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile(`(?m)^### (MaaS[A-Za-z]+)$`).FindAllStringSubmatch(string(guide), -1)
	var written, wanted []string
	for _, s := range sections {
		written = append(written, s[1])
	}
	for _, a := range alerts(t) {
		wanted = append(wanted, a.Name)
		if !strings.HasSuffix(a.Description, "What to do: "+monitoring.Guide+", section "+a.Name+".") {
			t.Errorf("the description of %s does not say where to read on: %s", a.Name, a.Description)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Severity) {
			t.Errorf("%s has severity %q", a.Name, a.Severity)
		}
	}
	slices.Sort(written)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, written); diff != "" {
		t.Errorf("sections of %s (-alerts +sections):\n%s", monitoring.Guide, diff)
	}
}
