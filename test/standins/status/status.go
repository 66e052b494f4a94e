// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status holds what the stand-ins share in reading and writing the
// conditions of objects they know only as unstructured. It decides nothing:
// which conditions an object deserves is up to each stand-in.
package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Condition returns a condition that holds or does not.
func Condition(conditionType string, holds bool, reason, message string) metav1.Condition {
	s := metav1.ConditionFalse
	if holds {
		s = metav1.ConditionTrue
	}
	return metav1.Condition{Type: conditionType, Status: s, Reason: reason, Message: message}
}

// Conditions reads status.conditions.
func Conditions(u *unstructured.Unstructured) ([]metav1.Condition, error) {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	var typed struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &typed); err != nil {
		return nil, fmt.Errorf("read status conditions: %w", err)
	}
	return typed.Conditions, nil
}

// Set replaces the status by a struct with JSON tags, given as a pointer.
func Set(u *unstructured.Unstructured, typed any) error {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	return unstructured.SetNestedMap(u.Object, status, "status")
}
