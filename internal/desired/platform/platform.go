// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Platforms that objects differ on.
const (
	OpenShift  = "openshift"
	Kubernetes = "kubernetes"
)

// Input is everything the shared objects depend on.
type Input struct {
	// Config holds the settings; nil means the defaults.
	Config *v1alpha1.Config
	// Platform is [OpenShift] or [Kubernetes].
	Platform string
	// ControllerNamespace is where the operator runs, InfraNamespace where maas-api
	// does, GatewayNamespace where the Gateways are.
	ControllerNamespace, InfraNamespace, GatewayNamespace string
	// MonitoringNamespace is where metrics are read from; empty means nowhere.
	MonitoringNamespace string
	// AuthorinoNamespaces are those Authorino may run in; empty means
	// [DefaultAuthorinoNamespaces].
	AuthorinoNamespaces []string
}

// Output are the objects that are wanted.
type Output struct {
	// Requests are to be rendered and applied.
	Requests []render.Request
	// Warnings are sentences about settings that were left out.
	Warnings []string
}

// DefaultAuthorinoNamespaces are the namespaces Kuadrant and Red Hat Connectivity
// Link install Authorino into.
func DefaultAuthorinoNamespaces() []string {
	return []string{"kuadrant-system", "openshift-operators", "rh-connectivity-link"}
}

// Build returns the shared objects of the installation.
func Build(_ Input) (Output, error) { return Output{}, nil }
