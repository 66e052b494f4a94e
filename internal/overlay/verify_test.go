// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	patchFile   = "patches/server.yaml"
	patchHead   = "target: demo/deployment-server\n"
	replacement = "templates/" + demoFile
)

func TestVerify(t *testing.T) {
	t.Parallel()
	current := digestOfDemo(t)
	old := strings.Repeat("0", 64)
	tests := map[string]struct {
		files  []string
		fault  Fault
		names  string // what the message contains
		warned bool   // the policy warn lets it pass
	}{
		"nothing at all": {},
		"a patch that changes something": {
			files: []string{patchFile, patchHead + "merge: {spec: {replicas: 2}}"},
		},
		"a replacement that is current": {
			files: []string{replacement, replaced(current, "name: proxy", "name: sidecar")},
		},
		"a replacement made from another template": {
			files: []string{replacement, replaced(old, "name: proxy", "name: sidecar")},
			fault: FaultStale, names: "overlay rebase", warned: true,
		},
		"a replacement that changes nothing": {
			files: []string{replacement, replaced(current, "", "")},
			fault: FaultNoOp, names: "remove the file", warned: true,
		},
		"a patch that changes nothing": {
			files: []string{patchFile, patchHead + "merge: {spec: {replicas: 1}}"},
			fault: FaultNoOp, names: "changes nothing", warned: true,
		},
		"a patch whose test fails": {
			files: []string{patchFile, patchHead + "jsonPatch: [{op: test, path: /spec/replicas, value: 7}, {op: replace, path: /spec/replicas, value: 8}]"},
			fault: FaultBroken, names: patchFile,
		},
		"a patch of a template that is not there": {
			files: []string{patchFile, "target: demo/deployment-other\nmerge: {spec: {}}"},
			fault: FaultBroken, names: "demo/deployment-other",
		},
		"a replacement of a template that is not there": {
			files: []string{"templates/demo/deployment-other.yaml.tmpl", Header("demo/deployment-other", old) + demoText},
			fault: FaultBroken, names: "no template demo/deployment-other",
		},
		"a replacement that does not parse": {
			files: []string{replacement, replaced(current, "{{ .Replicas | int }}", "{{ .Replicas")},
			fault: FaultBroken, names: "line",
		},
		"a replacement with a field the values lack": {
			files: []string{replacement, replaced(current, ".Replicas", ".Replcas")},
			fault: FaultBroken, names: "Replcas",
		},
		"a replacement that does not quote": {
			files: []string{replacement, replaced(current, ".Name | quote", ".Name")},
			fault: FaultBroken, names: "quote",
		},
		"a replacement of another kind": {
			files: []string{replacement, replaced(current, "kind: Deployment", "kind: StatefulSet")},
			fault: FaultBroken, names: "StatefulSet",
		},
		"a replacement with another selector": {
			files: []string{replacement, replaced(current, "app: server", "app: mine")},
			fault: FaultIdentity, names: "spec.selector",
		},
		"a replacement without a label of the operator": {
			files: []string{replacement, replaced(current, "    maas.opendatahub.io/tenant-name: red\n", "    example.com/tenant: red\n")},
			fault: FaultIdentity, names: "tenant-name",
		},
		"a patch of the name": {
			files: []string{patchFile, patchHead + "merge: {metadata: {name: other}}"},
			fault: FaultIdentity, names: "metadata.name",
		},
		"a patch that removes a label of the operator": {
			files: []string{patchFile, patchHead + "jsonPatch: [{op: remove, path: /metadata/labels}]"},
			fault: FaultIdentity, names: "tenant-name",
		},
		"a patch that hands the object to an owner": {
			files: []string{patchFile, patchHead + "merge: {metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: y}]}}"},
			fault: FaultIdentity, names: "ownerReferences",
		},
		"a patch with a field the kind lacks": {
			files: []string{patchFile, patchHead + "merge: {spec: {replcas: 2}}"},
			fault: FaultBroken, names: "replcas",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := verify(t, tc.files...)
			strict, warn := result.Err(PolicyStrict), result.Err(PolicyWarn)
			if tc.fault == "" {
				if strict != nil || warn != nil || result.Engine == nil {
					t.Fatalf("strict: %v, warn: %v, engine: %v; want an engine and no problem", strict, warn, result.Engine)
				}
				return
			}
			if len(result.Problems) != 1 || result.Problems[0].Fault != tc.fault || !strings.Contains(result.Problems[0].String(), tc.names) {
				t.Errorf("problems = %v, want one, %s, with %q", result.Problems, tc.fault, tc.names)
			}
			if strict == nil {
				t.Error("the policy strict lets it pass")
			}
			if (warn == nil) != tc.warned || (result.Engine != nil) != tc.warned {
				t.Errorf("the policy warn says %v, engine %v; want it to pass: %t", warn, result.Engine, tc.warned)
			}
		})
	}
}

func TestTheEngineRendersWithTheOverlay(t *testing.T) {
	t.Parallel()
	containers := func(object *unstructured.Unstructured) []string {
		list, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range list {
			if m, ok := c.(map[string]any); ok {
				names = append(names, m["name"].(string)) //nolint:forcetypeassert // The template says so.
			}
		}
		return names
	}
	result := verify(t,
		"profile.yaml", "contract: v1\nlabels: {example.com/edition: gold}\n",
		patchFile, patchHead+"merge: {spec: {template: {spec: {containers: [{name: proxy, args: [--quiet]}, {name: third, image: quay.io/demo/third:v1}]}}}}",
		"patches/then.yaml", patchHead+"jsonPatch: [{op: test, path: /spec/replicas, value: 1}, {op: replace, path: /spec/replicas, value: 3}]")
	if err := result.Err(PolicyStrict); err != nil {
		t.Fatal(err)
	}
	object, err := result.Engine.Render(demoSample())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"server", "proxy", "third"}, sortedLike(containers(object))); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas"); replicas != 3 {
		t.Errorf("replicas = %d, want 3", replicas)
	}
	if got := object.GetLabels()["example.com/edition"]; got != "gold" {
		t.Errorf("label of the profile = %q, want gold", got)
	}
}

// sortedLike puts what a strategic merge may put first in the order of the template.
func sortedLike(names []string) []string {
	order := []string{"server", "proxy", "third"}
	var sorted []string
	for _, want := range order {
		for _, name := range names {
			if name == want {
				sorted = append(sorted, name)
			}
		}
	}
	return sorted
}

// A value that only a running operator knows fails its object, and nothing else.
func TestAPatchThatFailsLaterNamesItsFile(t *testing.T) {
	t.Parallel()
	result := verify(t, patchFile, patchHead+"jsonPatch: [{op: test, path: /spec/replicas, value: 1}, {op: replace, path: /spec/replicas, value: 3}]")
	sample := demoSample()
	sample.Values = demoValues{Name: "server", Namespace: "ns", Replicas: 2}
	_, err := result.Engine.Render(sample)
	if err == nil || !strings.Contains(err.Error(), patchFile) || !strings.Contains(err.Error(), string(demoID)) {
		t.Errorf("Render() error = %v, want one that names the template and the patch", err)
	}
}
