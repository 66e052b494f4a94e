// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestServes: what serves goes on serving while a release replaces its Pods.
func TestServes(t *testing.T) {
	t.Parallel()
	object := func(apiVersion, kind string, status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": "monitoring", "name": "a", "generation": int64(2)},
			"spec": map[string]any{"replicas": int64(1)}, "status": status,
		}}
	}
	deployment := func(replicas, updated, available int64, progressing string) *unstructured.Unstructured {
		return object("apps/v1", "Deployment", map[string]any{
			"observedGeneration": int64(2), "replicas": replicas, "updatedReplicas": updated, "availableReplicas": available,
			"conditions": []any{map[string]any{"type": "Progressing", "status": progressing}},
		})
	}
	collector := func(pods string) *unstructured.Unstructured {
		return object("opentelemetry.io/v1beta1", "OpenTelemetryCollector", map[string]any{"scale": map[string]any{"statusReplicas": pods}})
	}
	for name, tc := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"its Pod runs":                            {deployment(1, 1, 1, "True"), true},
		"its first Pod is coming":                 {deployment(1, 1, 0, "True"), false},
		"an old Pod serves, a new one is coming":  {deployment(2, 1, 1, "True"), true},
		"an old Pod serves, a new one never came": {deployment(2, 1, 1, "False"), false},
		"nobody has looked at it":                 {object("apps/v1", "Deployment", nil), false},
		"it cannot be read":                       {object("apps/v1", "Deployment", map[string]any{"availableReplicas": "some"}), false},
		"a collector's Pod runs":                  {collector("1/1"), true},
		"a collector lacks a Pod":                 {collector("0/1"), false},
		"it has no Pods":                          {object("v1", "Service", nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := serves(tc.live); got != tc.want {
				t.Errorf("serves() = %t, want %t", got, tc.want)
			}
		})
	}
}
