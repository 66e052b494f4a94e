// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
)

// subject is one name with its ExternalModels of both groups. One of them counts: what is
// made for the name is of it.
type subject struct {
	// own and theirs are those of the operator's group and of the inference group, nil
	// for none.
	own    *v1alpha1.ExternalModel
	theirs *inferencev1alpha1.ExternalModel
	// translation is what theirs says, untranslated why that cannot be told.
	translation  external.Translation
	untranslated error
	// replacement is how far theirs has taken the place of own.
	replacement external.Replacement
	// acts tells that theirs counts.
	acts bool
}

// model is the one that counts, in the form of the operator's group.
func (s subject) model() *v1alpha1.ExternalModel {
	if s.acts {
		return s.translation.Model
	}
	return s.own
}

// object is the one that counts, as it is stored.
func (s subject) object() client.Object {
	if s.acts {
		return s.theirs
	}
	return s.own
}

// other is the one that does not count; nil for none.
func (s subject) other() client.Object {
	switch {
	case s.acts && s.own != nil:
		return s.own
	case !s.acts && s.theirs != nil:
		return s.theirs
	default:
		return nil
	}
}

// created is when the name came to be: whichever of the two is older.
func (s subject) created() time.Time {
	created := s.object().GetCreationTimestamp().Time
	if other := s.other(); other != nil && other.GetCreationTimestamp().Time.Before(created) {
		return other.GetCreationTimestamp().Time
	}
	return created
}

// elsewhere tells that a route that is not made here serves the name, for which nothing
// can be made.
func (s subject) elsewhere() bool {
	return s.acts && s.untranslated != nil && s.replacement == external.Replaced && s.theirs.Status.HTTPRouteName != external.Name(s.theirs.Name)
}

// owner is the reference of what is made to the model that counts.
func (s subject) owner() metav1.OwnerReference {
	version := v1alpha1.GroupVersion
	if s.acts {
		version = inferencev1alpha1.GroupVersion
	}
	object := s.object()
	return metav1.OwnerReference{
		APIVersion: version.String(), Kind: v1alpha1.KindExternalModel, Name: object.GetName(), UID: object.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// owns tells whether an object was made for one of the two.
func (s subject) owns(object client.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && (s.own != nil && owner.UID == s.own.UID || s.theirs != nil && owner.UID == s.theirs.UID)
}

// subjectOf reads the ExternalModels of one name; false when there is none.
func (r *Reconciler) subjectOf(ctx context.Context, key types.NamespacedName) (subject, bool, error) {
	own, err := fetch.Optional(ctx, r.Client, key, &v1alpha1.ExternalModel{})
	if err != nil {
		return subject{}, false, err
	}
	var theirs *inferencev1alpha1.ExternalModel
	if _, served, err := r.APIs.Served(inferenceExternalModels); err != nil {
		return subject{}, false, err
	} else if served {
		if theirs, err = fetch.Optional(ctx, r.Client, key, &inferencev1alpha1.ExternalModel{}); err != nil {
			return subject{}, false, err
		}
	}
	if own == nil && theirs == nil {
		return subject{}, false, nil
	}
	providers, err := r.providers(ctx, client.InNamespace(key.Namespace))
	if err != nil {
		return subject{}, false, err
	}
	s, err := r.weigh(ctx, own, theirs, providers)
	return s, true, err
}

// subjects are all names, or those of a namespace.
func (r *Reconciler) subjects(ctx context.Context, opts ...client.ListOption) ([]subject, error) {
	opts = append(opts, client.UnsafeDisableDeepCopy)
	var owns v1alpha1.ExternalModelList
	if err := r.Client.List(ctx, &owns, opts...); err != nil {
		return nil, fmt.Errorf("list ExternalModels: %w", err)
	}
	theirs, err := r.inferenceModels(ctx, opts...)
	if err != nil {
		return nil, err
	}
	providers, err := r.providers(ctx, opts...)
	if err != nil {
		return nil, err
	}
	subjects := make([]subject, 0, len(owns.Items)+len(theirs))
	add := func(own *v1alpha1.ExternalModel, other *inferencev1alpha1.ExternalModel) error {
		s, err := r.weigh(ctx, own, other, providers)
		subjects = append(subjects, s)
		return err
	}
	for i := range owns.Items {
		key := client.ObjectKeyFromObject(&owns.Items[i])
		if err := add(&owns.Items[i], theirs[key]); err != nil {
			return nil, err
		}
		delete(theirs, key)
	}
	for _, other := range theirs {
		if err := add(nil, other); err != nil {
			return nil, err
		}
	}
	return subjects, nil
}

func (r *Reconciler) inferenceModels(ctx context.Context, opts ...client.ListOption) (map[types.NamespacedName]*inferencev1alpha1.ExternalModel, error) {
	if _, served, err := r.APIs.Served(inferenceExternalModels); err != nil || !served {
		return nil, err
	}
	var list inferencev1alpha1.ExternalModelList
	if err := r.Client.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("list ExternalModels of the inference group: %w", err)
	}
	models := make(map[types.NamespacedName]*inferencev1alpha1.ExternalModel, len(list.Items))
	for i := range list.Items {
		models[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	return models, nil
}

type providers map[types.NamespacedName]*inferencev1alpha1.ExternalProvider

func (r *Reconciler) providers(ctx context.Context, opts ...client.ListOption) (providers, error) {
	if _, served, err := r.APIs.Served(externalProviders); err != nil || !served {
		return nil, err
	}
	var list inferencev1alpha1.ExternalProviderList
	if err := r.Client.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("list ExternalProviders: %w", err)
	}
	found := make(providers, len(list.Items))
	for i := range list.Items {
		found[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
	}
	return found, nil
}

// weigh finds out which of the two ExternalModels of a name counts.
func (r *Reconciler) weigh(ctx context.Context, own *v1alpha1.ExternalModel, theirs *inferencev1alpha1.ExternalModel, providers providers) (subject, error) {
	s := subject{own: own, theirs: theirs}
	if theirs == nil {
		return s, nil
	}
	s.translation, s.untranslated = external.Translate(theirs, func(name string) *inferencev1alpha1.ExternalProvider {
		return providers[types.NamespacedName{Namespace: theirs.Namespace, Name: name}]
	})
	var err error
	if s.replacement, err = r.replacementBy(ctx, theirs); err != nil {
		return s, err
	}
	able := s.untranslated == nil
	if able {
		refused, err := r.refused(ctx, s.translation.Model)
		if err != nil {
			return s, err
		}
		able = refused == ""
	}
	standing := external.Standing{Exists: own != nil, Leaving: own != nil && own.DeletionTimestamp != nil}
	s.acts = external.InferenceActs(standing, external.Standing{Exists: true, Leaving: theirs.DeletionTimestamp != nil}, able, s.replacement == external.Replaced)
	return s, nil
}

// replacementBy tells how far a model of the inference group has come. A route that is on
// its way out serves nobody.
func (r *Reconciler) replacementBy(ctx context.Context, theirs *inferencev1alpha1.ExternalModel) (external.Replacement, error) {
	_, served, err := r.APIs.Served(httpRoutes)
	if err != nil || !served || theirs.Status.HTTPRouteName == "" {
		return external.BeingReplaced, err
	}
	key := types.NamespacedName{Namespace: theirs.Namespace, Name: theirs.Status.HTTPRouteName}
	route, err := fetch.Optional(ctx, r.Client, key, empty(httpRoutes))
	if err != nil || route == nil || route.GetDeletionTimestamp() != nil {
		return external.BeingReplaced, err
	}
	return external.Replaced, nil
}
