// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// API is a kind that a cluster may or may not serve.
type API struct {
	// GroupKind is the kind.
	GroupKind schema.GroupKind
	// CRD is the name of its CustomResourceDefinition, "<plural>.<group>".
	CRD string
	// Versions are the versions that will do, the preferred one first.
	Versions []string
}

// Discovery is the part of a discovery client that tells what a version of an API
// group serves.
type Discovery interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Served asks the cluster for the first of the API's versions that it serves.
// False without an error means that it serves none of them; an error means that
// the question could not be answered.
func Served(d Discovery, api API) (schema.GroupVersionKind, bool, error) {
	for _, version := range api.Versions {
		gvk := api.GroupKind.WithVersion(version)
		resources, err := d.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return schema.GroupVersionKind{}, false, fmt.Errorf("ask whether the cluster serves %s: %w", gvk, err)
		}
		for i := range resources.APIResources {
			if resources.APIResources[i].Kind == gvk.Kind {
				return gvk, true, nil
			}
		}
	}
	return schema.GroupVersionKind{}, false, nil
}
