// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "inference.opendatahub.io"

// Version is the only version of the group: served and stored.
const Version = "v1alpha1"

// Kinds of this package, as written in manifests.
const (
	KindExternalModel    = "ExternalModel"
	KindExternalProvider = "ExternalProvider"
)

// GroupVersion identifies the group and version of this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: Version}

// AddToScheme registers all kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ExternalModel{}, &ExternalModelList{},
		&ExternalProvider{}, &ExternalProviderList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
