// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 owns the API types of group maas.opendatahub.io: what users
// write to publish models, to grant access and to limit usage, and what the
// operator reports back. It also owns the names that cross package borders:
// labels, annotations, finalizers, phases, condition types and reasons.
//
// It holds no logic, and it imports nothing but apimachinery and k8s.io/api, so
// that every program can use it. Every rule in these types is checked by the
// tests in test/api, also against objects stored before the rule existed.
//
// +kubebuilder:object:generate=true
// +groupName=maas.opendatahub.io
package v1alpha1
