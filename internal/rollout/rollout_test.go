// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
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

// TestServing: what serves goes on serving while Pods are replaced, and while there are to
// be more of them.
func TestServing(t *testing.T) {
	t.Parallel()
	progressing := func(status string) func(map[string]any) {
		return func(o map[string]any) {
			o["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Available", "status": "False"}, map[string]any{"type": "Progressing", "status": status}}
		}
	}
	for name, tc := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"nobody has looked yet":            {deployment(map[string]any{}), false},
		"all Pods serve":                   {deployment(status(2, 2, 2, 2)), true},
		"the status is of an older one":    {deployment(status(1, 2, 2, 2)), true},
		"one of two Pods serves":           {deployment(status(2, 2, 2, 1)), true},
		"one is of an older template":      {deployment(status(2, 2, 1, 1)), true},
		"none serves":                      {deployment(status(2, 2, 2, 0)), false},
		"more are coming up":               {deployment(status(2, 2, 2, 1), progressing("True")), true},
		"those that came up never did":     {deployment(status(2, 3, 1, 2), progressing("False")), false},
		"those that came up are not known": {deployment(status(2, 3, 1, 2), progressing("Unknown")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rollout.Serving(tc.live)
			if err != nil || got != tc.want {
				t.Errorf("Serving() = %t, %v, want %t", got, err, tc.want)
			}
		})
	}
}

func TestWhatIsNoDeploymentIsNamed(t *testing.T) {
	t.Parallel()
	broken := deployment(nil, func(o map[string]any) { o["spec"] = map[string]any{"replicas": "two"} })
	for _, asked := range []func(*unstructured.Unstructured) (bool, error){rollout.Complete, rollout.Serving} {
		if _, err := asked(broken); err == nil || !strings.Contains(err.Error(), "a/b") {
			t.Errorf("error = %v, want one that names it", err)
		}
	}
}

func TestCollecting(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{"2/2": true, "3/3": true, "1/2": false, "0/2": false, "": false, "2": false, "some/2": false} {
		live := deployment(map[string]any{"scale": map[string]any{"statusReplicas": said}})
		if got := rollout.Collecting(live); got != want {
			t.Errorf("with %q Collecting() = %t, want %t", said, got, want)
		}
	}
	// A cluster may serve the kind and have no operator that looks after it.
	if rollout.Collecting(deployment(map[string]any{})) || rollout.Collecting(deployment(map[string]any{"scale": "no"})) {
		t.Error("Collecting() = true of one that says nothing")
	}
	one := deployment(map[string]any{"scale": map[string]any{"statusReplicas": "1/1"}}, func(o map[string]any) { delete(o, "spec") })
	if !rollout.Collecting(one) {
		t.Error("Collecting() = false of one Pod where no number is said")
	}
}
