// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kserve_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

func service(t *testing.T, text string) kserve.Service {
	t.Helper()
	return kserve.Wrap(object(t, text))
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetNamespace("llm")
	return u
}

// B30 and B31.
func TestReadiness(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		conditions string
		want       kserve.Readiness
	}{
		"no status yet": {"", kserve.Readiness{}},
		"ready":         {"[{type: Ready, status: 'True'}]", kserve.Readiness{Ready: true}},
		"not ready with KServe's reason": {
			"[{type: Ready, status: 'False', reason: MinimumReplicasUnavailable, message: 0 of 1}]",
			kserve.Readiness{Reason: "MinimumReplicasUnavailable", Message: "0 of 1"},
		},
		"still starting": {
			"[{type: Ready, status: Unknown, reason: Progressing}, {type: WorkloadsReady, status: 'True'}, {type: GatewaysReady, status: 'False'}]",
			kserve.Readiness{Reason: "Progressing"},
		},
		"held back by KServe's view of the gateway only": {
			"[{type: Ready, status: 'False', reason: WaitingForGateway}, {type: WorkloadsReady, status: 'True'}, {type: RouterReady, status: 'False'}, {type: GatewaysReady, status: 'False'}]",
			kserve.Readiness{Ready: true, Reason: "WaitingForGateway"},
		},
		"held back by KServe's view of the route only": {
			"[{type: Ready, status: 'False', reason: RefsInvalid}, {type: WorkloadsReady, status: 'True'}, {type: HTTPRoutesReady, status: 'False'}]",
			kserve.Readiness{Ready: true, Reason: "RefsInvalid"},
		},
		"the gateway and the workloads are not ready": {
			"[{type: Ready, status: 'False', reason: X}, {type: WorkloadsReady, status: 'False'}, {type: GatewaysReady, status: 'False'}]",
			kserve.Readiness{Reason: "X"},
		},
		"the scheduler does not run": {
			"[{type: Ready, status: 'False', reason: X}, {type: WorkloadsReady, status: 'True'}, {type: SchedulerWorkloadReady, status: 'False'}, {type: GatewaysReady, status: 'False'}]",
			kserve.Readiness{Reason: "X"},
		},
		"the configuration is wrong": {
			"[{type: Ready, status: 'False', reason: X}, {type: WorkloadsReady, status: 'True'}, {type: PresetsCombined, status: 'False'}, {type: GatewaysReady, status: 'False'}]",
			kserve.Readiness{Reason: "X"},
		},
		"not ready for a reason we do not know": {
			"[{type: Ready, status: 'False', reason: X}, {type: WorkloadsReady, status: 'True'}]",
			kserve.Readiness{Reason: "X"},
		},
		"conditions of an odd shape": {"[7, {type: 3, status: true}]", kserve.Readiness{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := service(t, "status: {conditions: "+tc.conditions+"}").Readiness()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	s := service(t, `
status:
  url: https://h/llm/m
  addresses:
  - name: gateway-external
    url: https://h/llm/m
  - url: https://internal
    models: [{name: a}, {name: ""}, {name: b}, 5]
  - 3
  - {name: 4, url: [x], models: none}
`)
	want := []kserve.Address{
		{Name: "gateway-external", URL: "https://h/llm/m"},
		{URL: "https://internal", Models: []string{"a", "b"}},
		{},
	}
	if diff := cmp.Diff(want, s.Addresses()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.URL() != "https://h/llm/m" {
		t.Errorf("URL = %q", s.URL())
	}
	empty := service(t, "status: {url: {a: b}, addresses: x}")
	if len(empty.Addresses()) != 0 || empty.URL() != "" {
		t.Errorf("a status of an odd shape has addresses %v and URL %q", empty.Addresses(), empty.URL())
	}
}

// B34: of several names it is the canonical one.
func TestAlias(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ addresses, want string }{
		"none yet":                        {"[]", ""},
		"addresses without models":        {"[{url: https://h}]", ""},
		"the one there is":                {"[{url: https://h}, {models: [{name: publishers/llm/models/m}, {name: x}]}]", "publishers/llm/models/m"},
		"the canonical one first":         {"[{models: [{name: a}]}, {models: [{name: publishers/llm/models/m}]}]", "publishers/llm/models/m"},
		"another namespace's is no one's": {"[{models: [{name: publishers/other/models/m}]}, {models: [{name: b}]}]", "b"},
		"whatever the order":              {"[{models: [{name: b}]}, {models: [{name: a}]}]", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := service(t, "status: {addresses: "+tc.addresses+"}").Alias(); got != tc.want {
				t.Errorf("Alias = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := service(t, "spec: {router: {route: {http: {refs: [{name: a}, {name: ''}, {name: b}]}}}}")
	if diff := cmp.Diff([]string{"a", "b"}, s.RouteRefs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if refs := service(t, "spec: {router: {route: {}}}").RouteRefs(); len(refs) != 0 {
		t.Errorf("refs = %v", refs)
	}
	if got := kserve.ServiceOfRoute(kserve.RouteLabels("m")); got != "m" {
		t.Errorf("service of KServe's own route = %q", got)
	}
	if got := kserve.ServiceOfRoute(map[string]string{"app.kubernetes.io/name": "m"}); got != "" {
		t.Errorf("service of a foreign route = %q", got)
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	const before = `
metadata: {resourceVersion: "1"}
spec: {replicas: 1, router: {route: {http: {refs: [{name: a}]}}}}
status: {url: https://h, addresses: [{url: https://h}], conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`
	for name, tc := range map[string]struct {
		after string
		want  bool
	}{
		"nothing": {before, false},
		"replicas, versions and times only": {`
metadata: {resourceVersion: "2"}
spec: {replicas: 5, router: {route: {http: {refs: [{name: a}]}}}}
status: {url: https://h, addresses: [{url: https://h}], conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-02T00:00:00Z"}, {type: Other, status: "False"}]}
`, false},
		"readiness":  {`{spec: {router: {route: {http: {refs: [{name: a}]}}}}, status: {url: https://h, addresses: [{url: https://h}], conditions: [{type: Ready, status: "False"}]}}`, true},
		"an address": {`{spec: {router: {route: {http: {refs: [{name: a}]}}}}, status: {url: https://h, addresses: [{url: https://i}], conditions: [{type: Ready, status: "True"}]}}`, true},
		"the URL":    {`{spec: {router: {route: {http: {refs: [{name: a}]}}}}, status: {addresses: [{url: https://h}], conditions: [{type: Ready, status: "True"}]}}`, true},
		"a route":    {`{spec: {router: {route: {http: {refs: [{name: b}]}}}}, status: {url: https://h, addresses: [{url: https://h}], conditions: [{type: Ready, status: "True"}]}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := kserve.Differs(service(t, before), service(t, tc.after)); got != tc.want {
				t.Errorf("Differs = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTrimKeepsWhatIsRead(t *testing.T) {
	t.Parallel()
	u := object(t, `
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: m, managedFields: [{manager: x}], annotations: {a: b}}
spec: {template: {containers: [{name: main}]}, router: {scheduler: {}, route: {http: {refs: [{name: a}]}}}}
status: {url: https://h, addresses: [{url: https://h}], conditions: [{type: Ready, status: "True"}]}
`)
	before := kserve.Wrap(u.DeepCopy())
	kserve.Trim(u)
	if kserve.Differs(before, kserve.Wrap(u)) {
		t.Error("trimming changes what is read")
	}
	want := map[string]any{"router": map[string]any{"route": map[string]any{"http": map[string]any{"refs": []any{map[string]any{"name": "a"}}}}}}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if len(u.GetManagedFields()) != 0 {
		t.Error("managedFields are kept")
	}
	kserve.Trim(object(t, "metadata: {name: m}"))
}
