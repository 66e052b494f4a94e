// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/guard"
)

const istio = "networking.istio.io"

// The kinds of others that this controller reads or writes. Each may be missing when it
// starts and appear later.
var (
	httpRoutes       = facts.API{GroupKind: schema.GroupKind{Group: gwapiv1.GroupName, Kind: "HTTPRoute"}, CRD: external.RouteCRD, Versions: []string{"v1"}}
	serviceEntries   = facts.API{GroupKind: schema.GroupKind{Group: istio, Kind: "ServiceEntry"}, CRD: external.ServiceEntryCRD, Versions: []string{"v1"}}
	destinationRules = facts.API{GroupKind: schema.GroupKind{Group: istio, Kind: "DestinationRule"}, CRD: external.DestinationRuleCRD, Versions: []string{"v1"}}

	inferenceExternalModels = facts.API{
		GroupKind: schema.GroupKind{Group: inferencev1alpha1.GroupName, Kind: "ExternalModel"},
		CRD:       "externalmodels." + inferencev1alpha1.GroupName,
		Versions:  []string{inferencev1alpha1.GroupVersion.Version},
	}
	externalProviders = facts.API{
		GroupKind: schema.GroupKind{Group: inferencev1alpha1.GroupName, Kind: inferencev1alpha1.KindExternalProvider},
		CRD:       "externalproviders." + inferencev1alpha1.GroupName,
		Versions:  []string{inferencev1alpha1.GroupVersion.Version},
	}
)

// needed are the kinds without which no request reaches a provider.
func needed() []facts.API { return []facts.API{httpRoutes, serviceEntries, destinationRules} }

// survey asks which of the kinds of others the cluster serves.
func (r *Reconciler) survey(_ context.Context, s *scope) error {
	for _, api := range append(needed(), inferenceExternalModels, trigger.AuthPolicies, guard.EnvoyFilters, guard.WasmPlugins) {
		_, served, err := r.APIs.Served(api)
		if err != nil {
			return err
		}
		s.served[api.CRD] = served
	}
	for _, api := range needed() {
		if !s.served[api.CRD] {
			s.facts.MissingAPIs = append(s.facts.MissingAPIs, api.CRD)
		}
	}
	return nil
}

// empty is an object of a kind to read into.
func empty(api facts.API) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(api.GroupKind.WithVersion(api.Versions[0]))
	return object
}
