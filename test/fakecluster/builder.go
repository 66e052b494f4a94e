// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakecluster begins the in-memory clusters of unit tests: those that look at
// the calls a piece of code makes, or have some of them fail. Everything else is tested
// with a real control plane, see package testenv.
package fakecluster

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Holding is the builder of a cluster that holds copies of the objects. The builder of
// controller-runtime writes a resource version into the very objects it is given, and
// the rows of a table that run in parallel are given the same ones.
func Holding(scheme *runtime.Scheme, objects ...client.Object) *fake.ClientBuilder {
	b := fake.NewClientBuilder().WithScheme(scheme)
	for _, object := range objects {
		b = b.WithObjects(object.DeepCopyObject().(client.Object))
	}
	return b
}
