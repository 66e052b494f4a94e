// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout tells from what an object says of itself whether its Pods serve. It is
// pure; what is made of the answer is for those who ask.
package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Complete tells whether as many Pods of a Deployment's newest template serve as are
// wished, and none of an older one is left.
func Complete(live *unstructured.Unstructured) (bool, error) {
	d, err := read(live)
	if err != nil {
		return false, err
	}
	wished := int32(1)
	if d.Spec.Replicas != nil {
		wished = *d.Spec.Replicas
	}
	return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= wished &&
		d.Status.Replicas <= d.Status.UpdatedReplicas && d.Status.AvailableReplicas >= wished, nil
}

// Serving tells whether a Deployment has Pods that serve, of whatever template, and
// nothing says that it has given up on bringing new ones up.
func Serving(live *unstructured.Unstructured) (bool, error) {
	d, err := read(live)
	if err != nil {
		return false, err
	}
	stuck := slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
	})
	return d.Status.AvailableReplicas > 0 && !stuck, nil
}

func read(live *unstructured.Unstructured) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, d); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", live.GetKind(), live.GetNamespace(), live.GetName(), err)
	}
	return d, nil
}

// Collecting tells whether as many Pods of an OpenTelemetryCollector serve as are wished.
// Its operator writes how many do into status.scale.statusReplicas, as "1/2". Where that
// says nothing, no operator looks after it: nothing runs.
func Collecting(live *unstructured.Unstructured) bool {
	text, _, err := unstructured.NestedString(live.Object, "status", "scale", "statusReplicas")
	serving, _, said := strings.Cut(text, "/")
	ready, parseErr := strconv.ParseInt(serving, 10, 32)
	if err != nil || !said || parseErr != nil {
		return false
	}
	wished, found, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if err != nil || !found {
		wished = 1
	}
	return ready >= wished
}
