// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
)

// routeOf is a rendered route as it is read from a cluster.
func routeOf(t *testing.T, object *unstructured.Unstructured) opening.Route {
	t.Helper()
	var route gwapiv1.HTTPRoute
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &route); err != nil {
		t.Fatalf("read the route: %v", err)
	}
	return opening.RouteOf(&route)
}
