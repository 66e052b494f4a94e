// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 owns the API types of group inference.opendatahub.io that this
// project ships: models of providers outside the cluster, described in full. The operator
// leads to their providers; payload processing reads how requests are changed on the way.
//
// It holds no logic, and it imports nothing but apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=inference.opendatahub.io
package v1alpha1
