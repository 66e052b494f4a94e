// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestCRDsAreSentAgain(t *testing.T) {
	t.Parallel()
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	tests := map[string]struct {
		err  error
		want bool
	}{
		"a busy server is asked again":       {err: apierrors.NewTimeoutError("request did not complete", 0), want: true},
		"an overloaded server too":           {err: apierrors.NewTooManyRequests("later", 1), want: true},
		"a refused CRD is not sent again":    {err: apierrors.NewBadRequest("no such field")},
		"nor is it when that is not allowed": {err: apierrors.NewForbidden(resource.GroupResource(), "x", nil)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, calls := fake.NewSimpleDynamicClient(runtime.NewScheme()), 0
			client.PrependReactor("create", resource.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
				calls++
				return calls == 1, nil, tc.err
			})
			crd := &unstructured.Unstructured{}
			crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
			crd.SetName("x")
			err := storeObject(t.Context(), client.Resource(resource), crd)
			if again := err == nil && calls == 2; again != tc.want {
				t.Errorf("sent %d times, with %v", calls, err)
			}
		})
	}
}
