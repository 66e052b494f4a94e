// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Platform is the kind of cluster.
type Platform string

const (
	// OpenShift has OpenShift's configuration API and what comes with it.
	OpenShift Platform = "openshift"
	// Kubernetes is everything else.
	Kubernetes Platform = "kubernetes"
	// Auto is resolved by DetectPlatform.
	Auto Platform = "auto"
)

// Platforms are the values a user may choose from.
func Platforms() []string { return []string{string(OpenShift), string(Kubernetes), string(Auto)} }

// ParsePlatform reads a user's choice.
func ParsePlatform(text string) (Platform, error) {
	if slices.Contains(Platforms(), text) {
		return Platform(text), nil
	}
	return "", fmt.Errorf("%q is not one of %s", text, strings.Join(Platforms(), ", "))
}

const openShiftConfigGroup = "config.openshift.io"

var (
	openShiftVersion        = API{GroupKind: schema.GroupKind{Group: openShiftConfigGroup, Kind: "ClusterVersion"}, Versions: []string{"v1"}}
	openShiftAuthentication = API{GroupKind: schema.GroupKind{Group: openShiftConfigGroup, Kind: "Authentication"}, Versions: []string{"v1"}}
)

// DetectPlatform returns the platform asked for, or, for Auto, what the cluster's
// APIs say it is: OpenShift when it serves OpenShift's configuration.
func DetectPlatform(d Discovery, asked Platform) (Platform, error) {
	if asked != Auto {
		return asked, nil
	}
	for _, api := range []API{openShiftVersion, openShiftAuthentication} {
		_, served, err := Served(d, api)
		if err != nil {
			return "", fmt.Errorf("detect the platform: %w", err)
		}
		if served {
			return OpenShift, nil
		}
	}
	return Kubernetes, nil
}

// DefaultAudience is the audience of tokens that name none, on a cluster whose
// issuer was not changed.
const DefaultAudience = "https://kubernetes.default.svc"

// +kubebuilder:rbac:groups=config.openshift.io,resources=authentications,resourceNames=cluster,verbs=get

// Audience returns the audience of the cluster's ServiceAccount tokens. On
// OpenShift an administrator can change it, in Authentication/cluster; the reader
// must not be a cache. An error means that the audience is not known: a wrong one
// would refuse every caller, so none is assumed.
func Audience(ctx context.Context, reader client.Reader, platform Platform) (string, error) {
	if platform != OpenShift {
		return DefaultAudience, nil
	}
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(openShiftAuthentication.GroupKind.WithVersion("v1"))
	err := reader.Get(ctx, types.NamespacedName{Name: "cluster"}, config)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return DefaultAudience, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the token issuer from Authentication cluster: %w", err)
	}
	issuer, _, err := unstructured.NestedString(config.Object, "spec", "serviceAccountIssuer")
	if err != nil {
		return "", fmt.Errorf("read the token issuer from Authentication cluster: %w", err)
	}
	if issuer == "" {
		return DefaultAudience, nil
	}
	return issuer, nil
}
