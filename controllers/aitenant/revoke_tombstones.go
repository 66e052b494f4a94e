// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete

// errNoPlace says that there is no namespace for a tombstone: the whole installation is
// being removed.
var errNoPlace = errors.New("no namespace takes a tombstone any more")

func jobKind() schema.GroupVersionKind { return batchv1.SchemeGroupVersion.WithKind("Job") }

// stonePlaces are the namespaces of tombstones: that of AITenants, and, while that one
// is being deleted together with them, the one where the Jobs run.
func (r *Reconciler) stonePlaces() []string {
	first, second := r.Settings.Tenancy.AITenantNamespace, r.Settings.Tenant.InfraNamespace
	if first == second {
		return []string{first}
	}
	return []string{first, second}
}

// raise makes the tombstone of a tenant unless it is there, and returns the one that is
// stored.
func (r *Reconciler) raise(ctx context.Context, stone aitenant.Tombstone) (aitenant.Tombstone, error) {
	for _, place := range r.stonePlaces() {
		live, err := fetch.Optional(ctx, r.APIReader, types.NamespacedName{Namespace: place, Name: aitenant.TombstoneName(stone.UID)}, &corev1.ConfigMap{})
		if err != nil {
			return stone, err
		}
		if live == nil || live.DeletionTimestamp != nil {
			continue
		}
		found, err := aitenant.TombstoneFrom(live)
		if err != nil || live.Labels[v1alpha1.LabelTenantTombstone] != "true" || live.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue {
			return stone, apperr.Userf(v1alpha1.ReasonDeletionBlocked, "ConfigMap %s/%s has the name of the tenant's tombstone and is none: delete it.", live.Namespace, live.Name)
		}
		return found, nil
	}
	for _, place := range r.stonePlaces() {
		_, err := r.Applier.Apply(ctx, stone.Object(place))
		if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			continue
		}
		if conflict, ok := errors.AsType[*apply.ConflictError](err); ok {
			return stone, apperr.Userf(v1alpha1.ReasonDeletionBlocked, "ConfigMap %s has the name of the tenant's tombstone and is none: delete it.", conflict.Key)
		}
		if err != nil {
			return stone, fmt.Errorf("raise the tombstone of AITenant %s: %w", stone.AITenant, err)
		}
		return stone, nil
	}
	return stone, errNoPlace
}

// lower removes the tombstone of a tenant whose keys are revoked, or are not its own.
func (r *Reconciler) lower(ctx context.Context, uid types.UID) error {
	places := r.stonePlaces()
	errs := make([]error, 0, len(places))
	for _, place := range places {
		live, err := fetch.Optional(ctx, r.APIReader, types.NamespacedName{Namespace: place, Name: aitenant.TombstoneName(uid)}, &corev1.ConfigMap{})
		if err == nil && live != nil && live.Labels[v1alpha1.LabelTenantTombstone] == "true" {
			err = r.remove(ctx, live)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// remove deletes exactly the copy that was read. One that is gone is no error.
func (r *Reconciler) remove(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	err := r.Client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s %s: %w", fetch.KindOf(object), client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// standing is a tombstone and the ConfigMap that is it.
type standing struct {
	aitenant.Tombstone
	object *corev1.ConfigMap
}

// stones reads all tombstones past the cache. What is none, whatever its labels say, is
// not listed.
func (r *Reconciler) stones(ctx context.Context) ([]standing, error) {
	var all []standing
	for _, place := range r.stonePlaces() {
		var list corev1.ConfigMapList
		if err := r.APIReader.List(ctx, &list, client.InNamespace(place), client.MatchingLabels(aitenant.TombstoneLabels())); err != nil {
			return nil, fmt.Errorf("list tombstones of tenants: %w", err)
		}
		for i := range list.Items {
			if stone, err := aitenant.TombstoneFrom(&list.Items[i]); err == nil {
				all = append(all, standing{stone, &list.Items[i]})
			}
		}
	}
	return all, nil
}

// stoneBefore finds a tombstone whose keys have to be revoked before those of another
// one; the zero value when there is none.
func (r *Reconciler) stoneBefore(ctx context.Context, stone aitenant.Tombstone) (types.NamespacedName, error) {
	all, err := r.stones(ctx)
	if err != nil {
		return types.NamespacedName{}, err
	}
	made := r.Clock.Now()
	for _, other := range all {
		if other.UID == stone.UID {
			made = other.object.CreationTimestamp.Time
		}
	}
	for _, other := range all {
		if other.Before(stone, other.object.CreationTimestamp.Time, made) {
			return client.ObjectKeyFromObject(other.object), nil
		}
	}
	return types.NamespacedName{}, nil
}

// awaitFormerKeys ends the work while keys of an earlier tenant of the same name may
// still work: the maas-api of this one would take them for its own. A tenant that has
// its MaasTenantConfig has passed here before.
func (r *Reconciler) awaitFormerKeys(ctx context.Context, s *scope) error {
	config, err := fetch.Optional(ctx, r.Client, s.configKey(), &v1alpha1.MaasTenantConfig{})
	if err != nil {
		return apperr.Unchecked(v1alpha1.ReasonFormerKeysPending, err)
	}
	if config != nil && types.UID(config.Annotations[v1alpha1.AnnotationAITenantUID]) == s.tenant.UID {
		return nil
	}
	all, err := r.stones(ctx)
	if err != nil {
		return apperr.Unchecked(v1alpha1.ReasonFormerKeysPending, err)
	}
	for _, stone := range all {
		if stone.UID != s.tenant.UID && stone.Tenant == r.knownAs(s.tenant.Name) {
			s.stop(v1alpha1.ReasonFormerKeysPending, fmt.Sprintf(
				"The API keys of an earlier tenant of this name are being revoked: see ConfigMap %s. Delete it if there are no such keys any more.", client.ObjectKeyFromObject(stone.object)))
			s.lookAgain(later)
			return nil
		}
	}
	return nil
}
