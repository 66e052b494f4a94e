// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// retire removes the AuthPolicy that an earlier release put on the tenant's Gateway,
// once the tenant's own are in force in its place. What could not be removed is tried
// again.
func (r *Reconciler) retire(ctx context.Context, s *scope) error {
	for _, key := range r.Tenants.Settings.FormerGatewayAuth(s.input.Tenant.Gateway) {
		policy, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
		if err != nil {
			return err
		}
		if policy == nil || !former(policy) {
			continue
		}
		if err := r.retireOne(ctx, s, key, policy); err != nil {
			s.warn(v1alpha1.ReasonRemovalBlocked, nameOf(policy)+" of an earlier release could not be removed; see the controller's log. It is tried again.")
			// The tenant works: the error is for the work queue, once the status is written.
			s.unpruned = errors.Join(s.unpruned, err)
		}
	}
	return nil
}

func (r *Reconciler) retireOne(ctx context.Context, s *scope, key types.NamespacedName, policy *unstructured.Unstructured) error {
	if policy.GetAnnotations()[v1alpha1.AnnotationManaged] == "false" {
		s.warn(v1alpha1.ReasonOptedOut, fmt.Sprintf("%s of an earlier release is annotated %s=false and was left alone: it may decide who gets through the Gateway, in the place of %s. Delete it, or remove the annotation.",
			nameOf(policy), v1alpha1.AnnotationManaged, s.input.Tenant.GatewayDefaultAuth()))
		return nil
	}
	if policy.GetDeletionTimestamp() != nil || !r.replaced(s, policy) {
		return nil // Both are watched.
	}
	ctrl.LoggerFrom(ctx).Info("Removing the AuthPolicy of an earlier release", "object", key)
	if _, err := r.Applier.Delete(ctx, kuadrant.AuthPolicy, key); err != nil {
		return fmt.Errorf("remove the AuthPolicy of an earlier release: %w", err)
	}
	return nil
}

// former tells whether an AuthPolicy carries the labels by which earlier releases
// marked the one of a Gateway.
func former(policy client.Object) bool {
	labels := policy.GetLabels()
	return labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue && labels[v1alpha1.LabelPartOf] == v1alpha1.PartOfGatewayAuth
}

// replaced tells whether Kuadrant enforces the AuthPolicies of the Gateway and of
// maas-api as they stand now. That of the Gateway may be overridden, by policies of
// routes; each of them may be by the former one, if that has overrides.
func (r *Reconciler) replaced(s *scope, policy *unstructured.Unstructured) bool {
	found := 0
	for _, object := range s.objects {
		if object.GroupVersionKind() != kuadrant.AuthPolicy {
			continue
		}
		found++
		ref := apply.InventoryOf(object)[0]
		live := s.live[ref]
		if !equality.Semantic.DeepEqual(target(live), target(object)) {
			return false // Somebody manages it by hand, for something else.
		}
		foreign := slices.ContainsFunc(s.usurpers[ref], func(u *unstructured.Unstructured) bool { return u.GetName() != policy.GetName() })
		meant := kuadrant.Overridden(live) && !foreign && (kuadrant.TargetGateway(live) != "" || kuadrant.Overrides(policy))
		if !meant && !kuadrant.ReadinessOf(live, r.Clock.Now()).Enforced {
			return false
		}
	}
	return found > 0 && s.predecessor == ""
}

// target is what a policy is attached to; nil when that cannot be told.
func target(policy *unstructured.Unstructured) map[string]any {
	if policy == nil {
		return nil
	}
	reference, _, err := unstructured.NestedMap(policy.Object, "spec", "targetRef")
	if err != nil {
		return nil
	}
	return reference
}
