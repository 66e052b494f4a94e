// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/rollout"
)

// deployment is one of the second generation that wishes two Pods, unless changed.
func deployment(status map[string]any, change ...func(map[string]any)) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "a", "name": "b", "generation": int64(2)},
		"spec": map[string]any{"replicas": int64(2)}, "status": status,
	}
	for _, c := range change {
		c(object)
	}
	return &unstructured.Unstructured{Object: object}
}

func status(observed, replicas, updated, available int64) map[string]any {
	return map[string]any{"observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated, "availableReplicas": available}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	unsaid := func(o map[string]any) { delete(o, "spec") }
	stopped := func(o map[string]any) { o["spec"] = map[string]any{"replicas": int64(0)} }
	for name, tc := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"nobody has looked yet":            {deployment(map[string]any{}), false},
		"all Pods serve":                   {deployment(status(2, 2, 2, 2)), true},
		"the status is of an older one":    {deployment(status(1, 2, 2, 2)), false},
		"a Pod does not serve":             {deployment(status(2, 2, 2, 1)), false},
		"a Pod is of an older template":    {deployment(status(2, 2, 1, 2)), false},
		"a Pod of an older one is left":    {deployment(status(2, 3, 2, 3)), false},
		"a number that is not said is one": {deployment(status(2, 1, 1, 1), unsaid), true},
		"none is wished":                   {deployment(status(2, 0, 0, 0), stopped), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rollout.Complete(tc.live)
			if err != nil || got != tc.want {
				t.Errorf("Complete() = %t, %v, want %t", got, err, tc.want)
			}
		})
	}
}

func TestWhatIsNoDeploymentIsNamed(t *testing.T) {
	t.Parallel()
	_, err := rollout.Complete(deployment(nil, func(o map[string]any) { o["spec"] = map[string]any{"replicas": "two"} }))
	if err == nil || err.Error() == "" {
		t.Fatalf("error = %v", err)
	}
}

func TestCollecting(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{"2/2": true, "3/3": true, "1/2": false, "0/2": false, "": true, "2": true, "some/2": true} {
		live := deployment(map[string]any{"scale": map[string]any{"statusReplicas": said}})
		if got := rollout.Collecting(live); got != want {
			t.Errorf("with %q Collecting() = %t, want %t", said, got, want)
		}
	}
	if !rollout.Collecting(deployment(map[string]any{})) || !rollout.Collecting(deployment(map[string]any{"scale": "no"})) {
		t.Error("Collecting() = false of one that says nothing")
	}
	one := deployment(map[string]any{"scale": map[string]any{"statusReplicas": "1/1"}}, func(o map[string]any) { delete(o, "spec") })
	if !rollout.Collecting(one) {
		t.Error("Collecting() = false of one Pod where no number is said")
	}
}
