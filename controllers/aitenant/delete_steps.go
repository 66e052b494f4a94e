// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/finalizer"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maastenantconfigs,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;list;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies,verbs=get;list;delete

// owned tells whether an object goes with the AITenant: it is its own, or belonged to an
// earlier one of the name.
func owned(object client.Object, s *scope) bool {
	marked := aitenant.MarkedFor(object, s.tenant)
	return marked == aitenant.Ours || marked == aitenant.Former
}

// removeConfig deletes the tenant's MaasTenantConfig and waits until it is gone, and
// with it what runs for the tenant.
func (r *Reconciler) removeConfig(ctx context.Context, s *scope) (waiting string, err error) {
	config, err := fetch.Optional(ctx, r.APIReader, s.configKey(), &v1alpha1.MaasTenantConfig{})
	if err != nil || config == nil || !owned(config, s) {
		return "", err
	}
	waiting = "MaasTenantConfig " + s.configKey().String() + " is being deleted, and with it what runs for the tenant."
	s.lookAgain(later)
	if config.DeletionTimestamp != nil {
		return waiting, nil
	}
	// Without the finalizer what runs for the tenant would stay.
	if err := finalizer.Add(ctx, r.Client, config, v1alpha1.FinalizerTenantCleanup); err != nil {
		return "", err
	}
	if !controllerutil.ContainsFinalizer(config, v1alpha1.FinalizerTenantCleanup) {
		return waiting, nil // It is gone: the next look finds that.
	}
	return waiting, r.remove(ctx, config)
}

// removeRoles deletes the Roles of the tenant's administrators, and the RoleBindings of
// the same names that earlier releases made. Those of users stay.
func (r *Reconciler) removeRoles(ctx context.Context, s *scope) error {
	keys := s.roleKeys()
	errs := make([]error, 0, 2*len(keys))
	for _, key := range keys {
		for _, object := range []client.Object{&rbacv1.RoleBinding{}, &rbacv1.Role{}} {
			live, err := fetch.Optional(ctx, r.APIReader, key, object)
			if err == nil && live != nil && owned(live, s) && live.GetAnnotations()[v1alpha1.AnnotationManaged] != "false" {
				err = r.remove(ctx, live)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *scope) roleKeys() []types.NamespacedName {
	return []types.NamespacedName{
		{Namespace: s.namespace, Name: tenancy.TenantAdminRole(s.tenant.Name)},
		{Namespace: s.tenant.Namespace, Name: tenancy.ObjectAdminRole(s.tenant.Name)},
	}
}

// leftBindings names the RoleBindings to the tenant's Roles, which are gone: they would
// give the same people the same rights in the next tenant of the name. Not knowing them
// stops nothing.
func (r *Reconciler) leftBindings(ctx context.Context, s *scope) string {
	var names []string
	for _, role := range s.roleKeys() {
		var list rbacv1.RoleBindingList
		if err := r.APIReader.List(ctx, &list, client.InNamespace(role.Namespace)); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Looking for RoleBindings that stay behind")
			continue
		}
		for i := range list.Items {
			b := &list.Items[i]
			if b.RoleRef.Kind == "Role" && b.RoleRef.Name == role.Name && b.DeletionTimestamp == nil {
				names = append(names, client.ObjectKeyFromObject(b).String())
			}
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// releaseNamespace takes off the tenant's namespace what marked it. The namespace and
// everything in it stay.
func (r *Reconciler) releaseNamespace(ctx context.Context, s *scope) error {
	ns, err := fetch.Optional(ctx, r.Client, types.NamespacedName{Name: s.namespace}, &corev1.Namespace{})
	if err != nil || ns == nil || ns.DeletionTimestamp != nil || !owned(ns, s) {
		return err
	}
	released := ns.DeepCopy()
	release(released, s.tenant)
	return client.IgnoreNotFound(patch(ctx, r, ns, released))
}

// release takes off what [aitenant.MarkNamespace] puts on, unless somebody changed it.
func release(ns *corev1.Namespace, t *v1alpha1.AITenant) {
	stamp := aitenant.StampOf(t, ns.Name)
	drop(ns.Labels, stamp.Labels)
	drop(ns.Labels, map[string]string{v1alpha1.LabelGeneratedNamespace: "true"})
	drop(ns.Annotations, stamp.Annotations)
	drop(ns.Annotations, map[string]string{v1alpha1.AnnotationCreatedByAITenant: "true"})
	delete(ns.Annotations, v1alpha1.AnnotationAITenantUID) // Also that of an earlier AITenant of the name.
}

func drop(from, what map[string]string) {
	for key, value := range what {
		if from[key] == value {
			delete(from, key)
		}
	}
}

// removeFormerPolicy deletes the AuthPolicy that an earlier release put on the tenant's
// Gateway, unless it opted out of management or the Gateway is another tenant's.
func (r *Reconciler) removeFormerPolicy(ctx context.Context, s *scope) error {
	gateway := r.Settings.Tenancy.GatewayOf(s.tenant)
	if ref := s.tenant.Status.GatewayRef; ref != nil && ref.Name != "" && ref.Namespace != "" {
		gateway = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	for _, place := range slices.Compact([]string{s.tenant.Namespace, r.Settings.Tenancy.AITenantNamespace}) {
		key := types.NamespacedName{Namespace: place, Name: tenancy.GatewayClaim(gateway.Namespace, gateway.Name)}
		claim, err := fetch.Optional(ctx, r.APIReader, key, &corev1.ConfigMap{})
		if err != nil {
			return err
		}
		if claim != nil && aitenant.OwnershipOf(claim, s.tenant) == aitenant.Others {
			return nil
		}
	}
	var errs []error
	for _, key := range r.Settings.Tenancy.FormerGatewayAuth(gateway) {
		if _, err := r.Applier.Delete(ctx, kuadrant.AuthPolicy, key); err != nil {
			errs = append(errs, fmt.Errorf("delete AuthPolicy %s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}
