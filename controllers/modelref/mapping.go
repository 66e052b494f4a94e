// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// batchDelay is how long changes of what refers to a model are collected.
const batchDelay = 200 * time.Millisecond

func batched(types.NamespacedName) time.Duration { return batchDelay }

// modelsOf are the models a subscription or auth policy refers to.
func modelsOf(_ context.Context, obj client.Object) ([]types.NamespacedName, error) {
	switch o := obj.(type) {
	case *v1alpha1.MaaSSubscription:
		return index.SubscribedModels(o), nil
	case *v1alpha1.MaaSAuthPolicy:
		return index.GrantedModels(o), nil
	default:
		return nil, nil
	}
}

// modelsOfService are the models that publish an LLMInferenceService.
func (r *Reconciler) modelsOfService(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	keys, err := r.modelsByBackend(ctx, v1alpha1.BackendLLMInferenceService, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	old, err := r.modelsByBackend(ctx, legacyServiceKind, obj.GetNamespace(), obj.GetName())
	return append(keys, old...), err
}

// modelsOfExternalModel are the models that publish an ExternalModel of either group.
func (r *Reconciler) modelsOfExternalModel(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	return r.modelsByBackend(ctx, v1alpha1.BackendExternalModel, obj.GetNamespace(), obj.GetName())
}

func (r *Reconciler) modelsByBackend(ctx context.Context, kind v1alpha1.BackendKind, namespace, name string) ([]types.NamespacedName, error) {
	return r.list(ctx, client.InNamespace(namespace), client.MatchingFields{index.ModelByBackend: index.BackendKey(kind, name)})
}

// modelsOfRoute are the models served by a route: those of the service it was made
// for, those whose status names it, those of an ExternalModel whose status does, and
// those of its namespace that have none yet, because a service may choose its route by
// name.
func (r *Reconciler) modelsOfRoute(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	var keys []types.NamespacedName
	if service := kserve.ServiceOfRoute(obj.GetLabels()); service != "" {
		found, err := r.modelsByBackend(ctx, v1alpha1.BackendLLMInferenceService, obj.GetNamespace(), service)
		if err != nil {
			return nil, err
		}
		keys = found
	}
	external, err := r.modelsOfExternalRoute(ctx, obj)
	if err != nil {
		return nil, err
	}
	keys = append(keys, external...)
	for _, name := range []string{obj.GetName(), ""} {
		found, err := r.list(ctx, client.MatchingFields{index.ModelByRoute: index.Key(obj.GetNamespace(), name)})
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// modelsOfExternalRoute are the models of an ExternalModel of the inference group that names
// a route.
func (r *Reconciler) modelsOfExternalRoute(ctx context.Context, route client.Object) ([]types.NamespacedName, error) {
	if served, err := r.served(inferenceExternalModels); err != nil || !served {
		return nil, err
	}
	var list inferencev1alpha1.ExternalModelList
	if err := r.Client.List(ctx, &list, client.InNamespace(route.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ExternalModels of HTTPRoute %s: %w", client.ObjectKeyFromObject(route), err)
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		if list.Items[i].Status.HTTPRouteName != route.GetName() {
			continue
		}
		found, err := r.modelsOfExternalModel(ctx, &list.Items[i])
		if err != nil {
			return nil, err
		}
		keys = append(keys, found...)
	}
	return keys, nil
}

// modelsOfGateway are the models whose route is attached to a gateway.
func (r *Reconciler) modelsOfGateway(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	var list v1alpha1.MaaSModelRefList
	if err := r.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list models of Gateway %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	var keys []types.NamespacedName
	for i := range list.Items {
		status := &list.Items[i].Status
		if status.HTTPRouteGatewayNamespace == obj.GetNamespace() && status.HTTPRouteGatewayName == obj.GetName() {
			keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return keys, nil
}

// allModels is for changes that are rare and may concern any model.
func (r *Reconciler) allModels(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
	return r.list(ctx)
}

// siblings are the other models of a namespace that have a model's alias.
func (r *Reconciler) siblings(ctx context.Context, obj client.Object) ([]types.NamespacedName, error) {
	alias := aliasOf(obj)
	if alias == "" {
		return nil, nil
	}
	keys, err := r.list(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{index.ModelByAlias: alias})
	if err != nil {
		return nil, err
	}
	self := client.ObjectKeyFromObject(obj)
	return slices.DeleteFunc(keys, func(key types.NamespacedName) bool { return key == self }), nil
}

func (r *Reconciler) list(ctx context.Context, opts ...client.ListOption) ([]types.NamespacedName, error) {
	return trigger.Keys(ctx, r.Client, &v1alpha1.MaaSModelRefList{}, opts...)
}

func aliasOf(obj client.Object) string {
	if model, ok := obj.(*v1alpha1.MaaSModelRef); ok {
		return model.Status.ResolvedModelAlias
	}
	return ""
}
