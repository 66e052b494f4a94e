// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout tells from what a Deployment says of itself whether it serves. It is
// pure; what is made of the answer is for those who ask.
package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Complete tells whether as many Pods of a Deployment's newest template serve as are
// wished, and none of an older one is left.
func Complete(live *unstructured.Unstructured) (bool, error) {
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &d); err != nil {
		return false, fmt.Errorf("read %s %s/%s: %w", live.GetKind(), live.GetNamespace(), live.GetName(), err)
	}
	wished := int32(1)
	if d.Spec.Replicas != nil {
		wished = *d.Spec.Replicas
	}
	return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= wished &&
		d.Status.Replicas <= d.Status.UpdatedReplicas && d.Status.AvailableReplicas >= wished, nil
}
