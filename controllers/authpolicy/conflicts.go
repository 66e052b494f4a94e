// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package authpolicy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/desired/attachment"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// foreignPolicies lists the AuthPolicies of others that target the routes of
// the models.
func (r *Reconciler) foreignPolicies(ctx context.Context, models []*v1alpha1.MaaSModelRef) ([]types.NamespacedName, error) {
	routes := map[types.NamespacedName]bool{}
	for _, m := range models {
		if m.Status.HTTPRouteName != "" {
			routes[types.NamespacedName{Namespace: m.Namespace, Name: m.Status.HTTPRouteName}] = true
		}
	}
	var out []types.NamespacedName
	for namespace := range namespacesOf(routes) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kuadrant.AuthPolicy)
		if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			if meta.IsNoMatchError(err) {
				return nil, nil
			}
			return nil, fmt.Errorf("list AuthPolicies in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			p := &list.Items[i]
			target := types.NamespacedName{Namespace: namespace, Name: kuadrant.TargetRoute(p)}
			if routes[target] && p.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue {
				out = append(out, client.ObjectKeyFromObject(p))
			}
		}
	}
	return out, nil
}

func namespacesOf(routes map[types.NamespacedName]bool) map[string]bool {
	out := map[string]bool{}
	for route := range routes {
		out[route.Namespace] = true
	}
	return out
}

// writeConflicts reports foreign policies. They change no phase: which policy
// the gateway enforces shows in the generated policy's own status.
func writeConflicts(policy *v1alpha1.MaaSAuthPolicy, foreign []types.NamespacedName) {
	value := conditions.False(v1alpha1.ReasonNoConflict, "")
	if len(foreign) > 0 {
		value = conditions.True(v1alpha1.ReasonConflictDetected, attachment.DescribeConflicts(foreign))
	}
	conditions.Set(&policy.Status.Conditions, v1alpha1.ConditionConflictingAuthPolicy, policy.Generation, value)
}
