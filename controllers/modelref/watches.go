// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs,verbs=list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs/status,verbs=patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasauthpolicies;maassubscriptions;externalmodels;aitenants;maastenantconfigs;tenants,verbs=list;watch
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalmodels,verbs=list;watch
// +kubebuilder:rbac:groups=serving.kserve.io,resources=llminferenceservices,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;gateways,verbs=list;watch
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies;tokenratelimitpolicies,verbs=get;list;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches. Those of kinds that
// are not installed are added when they appear.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("modelref").
		WithOptions(trigger.Options(r.MaxConcurrentReconciles)).
		For(&v1alpha1.MaaSModelRef{}, builder.WithPredicates(trigger.OnUpdate(judged))).
		Watches(&v1alpha1.MaaSModelRef{}, trigger.Enqueue(r.siblings), builder.WithPredicates(trigger.OnUpdate(aliasChanged))).
		Watches(&v1alpha1.MaaSAuthPolicy{}, trigger.EnqueueAfter(modelsOf, batched), builder.WithPredicates(trigger.OnUpdate(contributorChanged))).
		Watches(&v1alpha1.MaaSSubscription{}, trigger.EnqueueAfter(modelsOf, batched), builder.WithPredicates(trigger.OnUpdate(contributorChanged))).
		Watches(&v1alpha1.ExternalModel{}, trigger.Enqueue(r.modelsOfExternalModel), builder.WithPredicates(trigger.OnUpdate(externalModelChanged))).
		Watches(&v1alpha1.AITenant{}, trigger.Enqueue(r.allModels), builder.WithPredicates(trigger.OnUpdate(trigger.TenantMoved))).
		Watches(&v1alpha1.MaasTenantConfig{}, trigger.Enqueue(r.allModels), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.Tenant{}, trigger.Enqueue(r.allModels), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&corev1.Namespace{}, trigger.Enqueue(r.allModels), builder.WithPredicates(trigger.TenantNamespace)).
		Build(r.Metrics.Wrap("modelref", v1alpha1.KindMaaSModelRef, r))
	if err != nil {
		return fmt.Errorf("set up controller modelref: %w", err)
	}
	return r.watchOptional(ctx, mgr, c)
}

// watchOptional adds the watches of kinds that may be missing. Each time one appears
// or goes comes a look at every model, because a missing kind is named in statuses.
func (r *Reconciler) watchOptional(ctx context.Context, mgr ctrl.Manager, c controller.Controller) error {
	all := func(context.Context) error { return c.Watch(trigger.EnqueueOnce(r.allModels)) }
	add := func(api facts.API, object func(schema.GroupVersionKind) client.Object, models trigger.Concerned, relevant func(before, after client.Object) bool) error {
		r.APIs.OnGone(api, all)
		return errors.Join(
			r.APIs.OnFirstServed(ctx, api, func(_ context.Context, gvk schema.GroupVersionKind) error {
				return c.Watch(source.Kind(mgr.GetCache(), object(gvk), trigger.Enqueue(models), trigger.OnUpdate(relevant)))
			}),
			r.APIs.OnServed(ctx, api, func(ctx context.Context, _ schema.GroupVersionKind) error { return all(ctx) }),
		)
	}
	return errors.Join(
		add(llmInferenceServices, func(gvk schema.GroupVersionKind) client.Object { return kserve.New(gvk) }, r.modelsOfService, serviceChanged),
		add(httpRoutes, func(schema.GroupVersionKind) client.Object { return &gwapiv1.HTTPRoute{} }, r.modelsOfRoute, routeChanged),
		add(gateways, func(schema.GroupVersionKind) client.Object { return &gwapiv1.Gateway{} }, r.modelsOfGateway, gatewayChanged),
		add(inferenceExternalModels, func(schema.GroupVersionKind) client.Object { return &inferencev1alpha1.ExternalModel{} }, r.modelsOfExternalModel, inferenceModelChanged),
	)
}
