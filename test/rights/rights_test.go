// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/test/rights"
)

func objects(t *testing.T, documents ...string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, object)
	}
	return out
}

const (
	clusterRole = `{kind: ClusterRole, metadata: {name: all}, rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]}`
	role        = `{kind: Role, metadata: {name: one, namespace: a}, rules: [{apiGroups: [""], resources: [secrets], resourceNames: [db], verbs: [get]}]}`
)

func TestGranted(t *testing.T) {
	t.Parallel()
	got, err := rights.Granted(objects(t, clusterRole, role, `{kind: Service, metadata: {name: x}}`))
	if err != nil {
		t.Fatalf("Granted() error = %v", err)
	}
	want := []rights.Right{
		{Resource: "pods", Verb: "get"},
		{Resource: "pods", Verb: "list"},
		{Resource: "secrets", Verb: "get", Name: "db", Namespace: "a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Granted() (-want +got):\n%s", diff)
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	if got, err := rights.Manifests("config/rbac"); err != nil || len(got) < 2 {
		t.Errorf("Manifests() = %d objects, %v", len(got), err)
	}
	if _, err := rights.Manifests("config/nothing"); err == nil {
		t.Error("a directory without files is no error")
	}
}

func TestWhatCannotBeComparedIsRefused(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"every verb":       `{kind: Role, metadata: {name: x}, rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]}`,
		"every group":      `{kind: Role, metadata: {name: x}, rules: [{apiGroups: ["*"], resources: [pods], verbs: [get]}]}`,
		"every resource":   `{kind: Role, metadata: {name: x}, rules: [{apiGroups: [""], resources: ["*/scale"], verbs: [get]}]}`,
		"an address":       `{kind: ClusterRole, metadata: {name: x}, rules: [{nonResourceURLs: [/metrics], verbs: [get]}]}`,
		"an aggregation":   `{kind: ClusterRole, metadata: {name: x}, aggregationRule: {clusterRoleSelectors: []}}`,
		"rules of no form": `{kind: Role, metadata: {name: x}, rules: x}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := rights.Granted(objects(t, document)); err == nil {
				t.Errorf("Granted() = %v, want an error", got)
			}
		})
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	const (
		subject  = `subjects: [{kind: ServiceAccount, namespace: ns, name: me}]`
		everyone = `{kind: ClusterRoleBinding, metadata: {name: x}, roleRef: {kind: ClusterRole, name: all}, ` + subject + `}`
		inOne    = `{kind: RoleBinding, metadata: {name: there, namespace: b}, roleRef: {kind: ClusterRole, name: all}, ` + subject + `}`
		own      = `{kind: RoleBinding, metadata: {name: z, namespace: a}, roleRef: {kind: Role, name: one}, ` + subject + `}`
		others   = `{kind: ClusterRoleBinding, metadata: {name: o}, roleRef: {kind: ClusterRole, name: all}, subjects: [{kind: ServiceAccount, namespace: ns, name: you}]}`
		dangling = `{kind: RoleBinding, metadata: {name: d, namespace: b}, roleRef: {kind: Role, name: one}, ` + subject + `}`
	)
	for name, tc := range map[string]struct {
		documents []string
		want      string
	}{
		"a role of the cluster everywhere":    {[]string{clusterRole, everyone}, "get pods, list pods"},
		"a role of the cluster in one place":  {[]string{clusterRole, inOne}, "get pods in b, list pods in b"},
		"a role of a namespace":               {[]string{role, own}, "get secrets db in a"},
		"a binding of somebody else":          {[]string{clusterRole, others}, ""},
		"a binding to a role that is missing": {[]string{role, dangling}, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held, err := rights.Held(objects(t, tc.documents...), "ns", "me")
			var texts []string
			for _, right := range held {
				texts = append(texts, right.String())
			}
			got := strings.Join(texts, ", ")
			if err != nil {
				got = "error"
			}
			if got != tc.want {
				t.Errorf("Held() = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	held := []rights.Right{
		{Group: "apps", Resource: "deployments", Verb: "get"},
		{Resource: "secrets", Verb: "get", Name: "db"},
		{Resource: "pods", Verb: "get", Namespace: "a"},
	}
	for name, tc := range map[string]struct {
		want    rights.Right
		covered bool
	}{
		"the same":                            {rights.Right{Group: "apps", Resource: "deployments", Verb: "get"}, true},
		"one object of all":                   {rights.Right{Group: "apps", Resource: "deployments", Verb: "get", Name: "x", Namespace: "y"}, true},
		"another verb":                        {rights.Right{Group: "apps", Resource: "deployments", Verb: "list"}, false},
		"another group":                       {rights.Right{Resource: "deployments", Verb: "get"}, false},
		"a part of the resource":              {rights.Right{Group: "apps", Resource: "deployments/scale", Verb: "get"}, false},
		"the one object":                      {rights.Right{Resource: "secrets", Verb: "get", Name: "db", Namespace: "a"}, true},
		"another object":                      {rights.Right{Resource: "secrets", Verb: "get", Name: "other"}, false},
		"all objects where one is held":       {rights.Right{Resource: "secrets", Verb: "get"}, false},
		"the namespace":                       {rights.Right{Resource: "pods", Verb: "get", Namespace: "a"}, true},
		"another namespace":                   {rights.Right{Resource: "pods", Verb: "get", Namespace: "b"}, false},
		"all namespaces where one is held":    {rights.Right{Resource: "pods", Verb: "get"}, false},
		"what the name of a namespace is not": {rights.Right{Resource: "pods", Verb: "get", Name: "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if missing := rights.Missing([]rights.Right{tc.want}, held); (len(missing) == 0) != tc.covered {
				t.Errorf("Missing() = %v, want covered = %v", missing, tc.covered)
			}
		})
	}
}
