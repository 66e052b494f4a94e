// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// externalModels say which format of requests a model takes.
var externalModels = facts.API{
	GroupKind: schema.GroupKind{Group: inferencev1alpha1.GroupName, Kind: "ExternalModel"},
	CRD:       "externalmodels." + inferencev1alpha1.GroupName,
	Versions:  []string{inferencev1alpha1.GroupVersion.Version},
}

// messagesFormat is the format whose clients send their key in x-api-key.
const messagesFormat = "messages"

// acceptsKeyHeader tells whether the tenant has a model whose clients send their API
// key in x-api-key: they list models with the same credentials. Models of other
// tenants do not count, or whoever makes one would change which credentials this
// tenant accepts.
func (r *Reconciler) acceptsKeyHeader(ctx context.Context, s *scope) (bool, error) {
	if !s.served[externalModels.CRD] {
		return false, nil
	}
	var list inferencev1alpha1.ExternalModelList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list ExternalModels: %w", err)
	}
	published := map[string]map[string]bool{} // Names of the tenant's by namespace.
	for i := range list.Items {
		external := &list.Items[i]
		if !speaksMessages(external) {
			continue
		}
		if _, known := published[external.Namespace]; !known {
			names, err := r.published(ctx, external.Namespace, s.input.Tenant.Name)
			if err != nil {
				return false, err
			}
			published[external.Namespace] = names
		}
		if published[external.Namespace][external.Name] {
			return true, nil
		}
	}
	return false, nil
}

// published are the names of the ExternalModels of a namespace that are models of a
// tenant.
func (r *Reconciler) published(ctx context.Context, namespace, tenantName string) (map[string]bool, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list MaaSModelRefs of namespace %s: %w", namespace, err)
	}
	names := map[string]bool{}
	for i := range list.Items {
		model := &list.Items[i]
		if model.Spec.ModelRef.Kind == v1alpha1.BackendExternalModel && model.Status.Tenant == tenantName {
			names[model.Spec.ModelRef.Name] = true
		}
	}
	return names, nil
}

func speaksMessages(external *inferencev1alpha1.ExternalModel) bool {
	return slices.ContainsFunc(external.Spec.ExternalProviderRefs, func(binding inferencev1alpha1.ExternalProviderBinding) bool {
		return binding.APIFormat == messagesFormat
	})
}
