// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Concerned lists the objects whose models use the route that a policy targets.
func (r *Reconciler) Concerned(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	policy, ok := object.(*unstructured.Unstructured)
	if !ok || kuadrant.TargetRoute(policy) == "" {
		return nil, nil
	}
	route := index.Key(policy.GetNamespace(), kuadrant.TargetRoute(policy))
	models, err := trigger.Keys(ctx, r.Client, &v1alpha1.MaaSModelRefList{}, client.MatchingFields{index.ModelByRoute: route})
	if err != nil {
		return nil, fmt.Errorf("find the models of route %s: %w", route, err)
	}
	var out []types.NamespacedName
	for _, model := range models {
		keys, err := trigger.Keys(ctx, r.Client, &v1alpha1.MaaSAuthPolicyList{}, client.MatchingFields{index.AuthPolicyByModel: model.String()})
		if err != nil {
			return nil, fmt.Errorf("find what refers to model %s: %w", model, err)
		}
		out = append(out, keys...)
	}
	return out, nil
}
