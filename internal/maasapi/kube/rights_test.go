// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// granted are the rights in the manifests: <scope> <group>/<resource>[ named] <verbs>.
func granted(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(root + "/config/maas-api/rbac/*role.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no roles", err)
	}
	var out []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole // A Role has the same members.
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			t.Fatal(file, err)
		}
		scope := strings.TrimPrefix(role.Name, "maas-api-")
		if role.Kind == "ClusterRole" {
			scope = string(ScopeCluster)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				out = append(out, line(scope, rule.APIGroups[0], resource, len(rule.ResourceNames) > 0, rule.Verbs))
			}
		}
	}
	slices.Sort(out)
	return out
}

func line(scope, group, resource string, named bool, verbs []string) string {
	name := ""
	if named {
		name = " named"
	}
	return fmt.Sprintf("%s %s/%s%s %s", scope, group, resource, name, strings.Join(verbs, ","))
}

func TestTheManifestsGrantTheRightsAndNoOthers(t *testing.T) {
	t.Parallel()
	var want []string
	for _, r := range Rights() {
		want = append(want, line(string(r.Scope), r.Group, r.Resource, r.Named, r.Verbs))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, granted(t)); diff != "" {
		t.Errorf("config/maas-api/rbac (-needed +granted):\n%s", diff)
	}
}

func TestTheRightsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/docs/operations/maas-api-rights.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), "`", "")
	rows := strings.Count(page, "\n| ") - 1 // Without the head of the table.
	if rows != len(Rights()) {
		t.Errorf("%d rows for %d rights", rows, len(Rights()))
	}
	for _, r := range Rights() {
		for _, part := range []string{"| " + r.Resource, "| " + strings.Join(r.Verbs, ", ") + " |", r.Without} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page lacks %q", r.Resource, part)
			}
		}
		if r.Why == "" || r.Without == "" {
			t.Errorf("%s: nobody says what it is for", r.Resource)
		}
	}
}
