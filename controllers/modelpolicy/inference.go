// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/index"
)

// inferenceExternalModels say which format of requests a model takes. The kind
// may be missing when the manager starts and appear later.
var inferenceExternalModels = facts.API{
	GroupKind: schema.GroupKind{Group: inferencev1alpha1.GroupName, Kind: "ExternalModel"},
	CRD:       "externalmodels." + inferencev1alpha1.GroupName,
	Versions:  []string{inferencev1alpha1.GroupVersion.Version},
}

// messagesFormat is the format whose clients send their key in x-api-key.
const messagesFormat = "messages"

// acceptsKeyHeader tells whether the clients of a model send their API key in
// x-api-key: its own backend is an ExternalModel with a provider of the messages
// format. One such model anywhere in the cluster could switch the header on for
// all, but then whoever may create an ExternalModel would change which
// credentials the models of everybody else accept, and each first or last one
// would rewrite every AuthPolicy.
func (r *Reconciler) acceptsKeyHeader(ctx context.Context, ref *v1alpha1.MaaSModelRef) (bool, error) {
	if ref.Spec.ModelRef.Kind != v1alpha1.BackendExternalModel {
		return false, nil
	}
	if _, served, err := r.APIs.Served(inferenceExternalModels); err != nil || !served {
		return false, err
	}
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Spec.ModelRef.Name}
	external, err := fetch.Optional(ctx, r.Client, key, &inferencev1alpha1.ExternalModel{})
	if err != nil || external == nil {
		return false, err
	}
	return speaksMessages(external), nil
}

func speaksMessages(external *inferencev1alpha1.ExternalModel) bool {
	return slices.ContainsFunc(external.Spec.ExternalProviderRefs, func(binding inferencev1alpha1.ExternalProviderBinding) bool {
		return binding.APIFormat == messagesFormat
	})
}

// watchInference adds the watch of ExternalModels as soon as the cluster serves
// them, and has every model looked at when they come and go.
func (r *Reconciler) watchInference(ctx context.Context, mgr ctrl.Manager, c controller.Controller) error {
	all := func(context.Context) error { return c.Watch(trigger.EnqueueOnce(r.allModels)) }
	r.APIs.OnGone(inferenceExternalModels, all)
	err := errors.Join(
		r.APIs.OnFirstServed(ctx, inferenceExternalModels, func(context.Context, schema.GroupVersionKind) error {
			return c.Watch(source.Kind[client.Object](mgr.GetCache(), &inferencev1alpha1.ExternalModel{}, trigger.Enqueue(r.modelsOfExternalModel), trigger.OnUpdate(formatChanged)))
		}),
		r.APIs.OnServed(ctx, inferenceExternalModels, func(ctx context.Context, _ schema.GroupVersionKind) error { return all(ctx) }),
	)
	if err != nil {
		return fmt.Errorf("watch %s: %w", inferenceExternalModels.CRD, err)
	}
	return nil
}

// modelsOfExternalModel are the models that publish an ExternalModel.
func (r *Reconciler) modelsOfExternalModel(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	return trigger.Keys(ctx, r.Client, &v1alpha1.MaaSModelRefList{}, client.InNamespace(object.GetNamespace()),
		client.MatchingFields{index.ModelByBackend: index.BackendKey(v1alpha1.BackendExternalModel, object.GetName())})
}

// formatChanged holds when a model begins or ceases to take the messages format.
func formatChanged(before, after client.Object) bool {
	a, ok := before.(*inferencev1alpha1.ExternalModel)
	b, alsoOK := after.(*inferencev1alpha1.ExternalModel)
	return !ok || !alsoOK || speaksMessages(a) != speaksMessages(b)
}
