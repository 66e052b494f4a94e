// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"strings"
	"testing"

	"github.com/opendatahub-io/maas-operator/internal/desired/platform"
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

// Queries of the dashboards pass the proxy, with values in place of variables: those of
// the personal one must, and the other's have the same form.
func TestQueriesPassTheProxy(t *testing.T) {
	t.Parallel()
	mine := logql.Restriction{Namespace: "redhat-ods-monitoring", User: "ann"}
	values := strings.NewReplacer("$model", "a.*", "$subscription", ".*", "$view_by", "model", "$__interval", "5m", "$user_id", "ann")
	objects, err := parts.Engine(t).RenderAll(build(t, "installation")["out."+platform.OpenShift+".yaml"])
	if err != nil {
		t.Fatalf("RenderAll() error = %v", err)
	}
	count := 0
	for _, object := range objects {
		if object.GetKind() != "PersesDashboard" {
			continue
		}
		for _, text := range texts(object.Object) {
			if !strings.Contains(text, "kubernetes_namespace_name") {
				continue
			}
			count++
			query := values.Replace(text)
			if strings.Contains(query, "$") {
				t.Errorf("%s: %s has an unknown variable", object.GetName(), query)
			}
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
