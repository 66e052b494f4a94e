// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fakecluster begins the in-memory clusters of unit tests: those that look at
// the calls a piece of code makes, or have some of them fail. Everything else is tested
// with a real control plane, see package testenv.
package fakecluster

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Holding is the builder of a cluster that holds copies of the objects. The builder of
// controller-runtime writes a resource version into the very objects it is given, and
// the rows of a table that run in parallel are given the same ones.
func Holding(scheme *runtime.Scheme, objects ...client.Object) *fake.ClientBuilder {
	b := fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(
		plain{applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)}, managedfields.NewDeducedTypeConverter(),
	)
	for _, object := range objects {
		b = b.WithObjects(object.DeepCopyObject().(client.Object))
	}
	return b
}

// plain has a converter see objects as a request holds them. The fake client gives all
// that it takes for kinds with a status one, be it null, which NetworkPolicies have not.
type plain struct{ managedfields.TypeConverter }

func (p plain) ObjectToTyped(object runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("write %s as a request does: %w", object.GetObjectKind().GroupVersionKind(), err)
	}
	if content["status"] == nil {
		content = maps.Clone(content)
		delete(content, "status")
	}
	return p.TypeConverter.ObjectToTyped(&unstructured.Unstructured{Object: content}, opts...)
}
