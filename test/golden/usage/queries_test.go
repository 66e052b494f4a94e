// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
	"github.com/opendatahub-io/maas-operator/internal/desired/usage"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy/logql"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// texts are all strings in an object.
func texts(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case map[string]any:
		for _, member := range v {
			all = append(all, texts(member)...)
		}
	case []any:
		for _, member := range v {
			all = append(all, texts(member)...)
		}
	}
	return all
}

// variable is a use of a variable of Perses.
var variable = regexp.MustCompile(`\$(\w+)`)

// ofPerses are the variables that Perses itself has in every query. There is none for the
// distance of two points: only the plug-in for Prometheus knows $__interval, and the log
// store would be sent the name.
func ofPerses() map[string]string {
	return map[string]string{"__range": "24h", "__range_s": "86400", "__range_ms": "86400000", "__from": "1", "__to": "2", "__dashboard": "d", "__project": "p"}
}

// defined are the variables of a dashboard, each with a value that may be chosen.
func defined(t *testing.T, dashboard map[string]any) map[string]string {
	t.Helper()
	found := ofPerses()
	spec, _ := dashboard["spec"].(map[string]any)
	variables, _ := spec["variables"].([]any)
	for _, v := range variables {
		object, _ := v.(map[string]any)
		inner, _ := object["spec"].(map[string]any)
		name, ok := inner["name"].(string)
		if !ok {
			t.Fatalf("a variable has no name: %v", v)
		}
		found[name] = "model"
	}
	return found
}

// The proxy does not ask the log store for names of labels, and has a list of its own.
func TestTheProxyKnowsWhatRecordsAreToldApartBy(t *testing.T) {
	t.Parallel()
	want := slices.Concat(usage.Quoted(), usage.Streams(), []string{"response_code", "service_name", "kubernetes_namespace_name"})
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), usageproxy.Labels()); diff != "" {
		t.Errorf("names of labels (-want +got):\n%s", diff)
	}
}

// Queries of the dashboards pass the proxy, with values in place of variables: those of
// the personal one must, and the other's have the same form.
func TestQueriesPassTheProxy(t *testing.T) {
	t.Parallel()
	mine := logql.Restriction{Namespace: "redhat-ods-monitoring", User: "ann"}
	objects, err := parts.Engine(t).RenderAll(build(t, "installation")["out."+platform.OpenShift+".yaml"])
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	count := 0
	for _, object := range objects {
		if object.GetKind() != "PersesDashboard" {
			continue
		}
		variables := defined(t, object.Object)
		for _, text := range texts(object.Object) {
			if !strings.Contains(text, "kubernetes_namespace_name") {
				continue
			}
			count++
			query := variable.ReplaceAllStringFunc(text, func(use string) string {
				value, known := variables[use[1:]]
				if !known {
					t.Errorf("%s: %s has a variable %s, which neither Perses nor the dashboard defines", object.GetName(), text, use)
				}
				return value
			})
			narrowed, err := mine.Rewrite(query)
			if err != nil || strings.Count(narrowed, `| user_id="ann"`) != 1 {
				t.Errorf("%s: %s gives %s, error %v", object.GetName(), query, narrowed, err)
			}
		}
	}
	if count != 14 {
		t.Errorf("%d queries, want 7 of each dashboard", count)
	}
}
