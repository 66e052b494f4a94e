// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/facts"
)

// SetupWithManager registers the controller and its watches. Those of kinds that are
// not installed are added when they appear. A config is looked at after each change of
// itself, our own writes included: a look that came between a write and its arrival in
// the cache may have left out what had to be written.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("tenantconfig").
		WithOptions(trigger.Options(r.MaxConcurrentReconciles)).
		For(&v1alpha1.MaasTenantConfig{}).
		Watches(&v1alpha1.Config{}, trigger.Enqueue(r.all), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.AITenant{}, trigger.Enqueue(r.ofAITenant), builder.WithPredicates(trigger.OnUpdate(trigger.TenantMoved))).
		Watches(&v1alpha1.Tenant{}, trigger.Enqueue(r.ofLegacyTenant), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.MaaSModelRef{}, trigger.Enqueue(r.ofModel), builder.WithPredicates(trigger.OnUpdate(publishes))).
		Watches(&v1alpha1.MaaSSubscription{}, trigger.Enqueue(ofMember), builder.WithPredicates(leaving())).
		Watches(&v1alpha1.MaaSAuthPolicy{}, trigger.Enqueue(ofMember), builder.WithPredicates(leaving())).
		Watches(&corev1.Namespace{}, trigger.Enqueue(r.all), builder.WithPredicates(r.logsGoTo(), trigger.OnUpdate(trigger.NewGeneration)))
	for _, row := range always() {
		b = b.Watches(operand(row.GVK), trigger.Enqueue(ofOperand), builder.WithPredicates(trigger.OnUpdate(heeded(row.GVK.GroupKind()))))
	}
	c, err := b.Build(r.Metrics.Wrap("tenantconfig", v1alpha1.KindMaasTenantConfig, r))
	if err != nil {
		return fmt.Errorf("set up controller tenantconfig: %w", err)
	}
	return errors.Join(r.watchDatabase(mgr, c), r.watchOptional(ctx, mgr, c))
}

// always are rows of kinds that every cluster serves, one for each kind.
func always() []desired.Component {
	var rows []desired.Component
	seen := map[schema.GroupVersionKind]bool{}
	for _, row := range components() {
		if row.Requires == "" && !seen[row.GVK] {
			seen[row.GVK] = true
			rows = append(rows, row)
		}
	}
	return rows
}

// logsGoTo lets pass the namespace that usage logs are sent to.
func (r *Reconciler) logsGoTo() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		return r.Settings.MonitoringNamespace != "" && object.GetName() == r.Settings.MonitoringNamespace
	})
}

// heeded tells which changes of objects of a kind matter: of a Deployment all, of others
// none of the status alone. That of an autoscaler changes all the time.
func heeded(kind schema.GroupKind) func(before, after client.Object) bool {
	if kind == appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind() {
		return func(_, _ client.Object) bool { return true }
	}
	return func(before, after client.Object) bool {
		a, ok := before.(*unstructured.Unstructured)
		b, alsoOK := after.(*unstructured.Unstructured)
		return !ok || !alsoOK || !equality.Semantic.DeepEqual(beyondStatus(a), beyondStatus(b))
	}
}

// beyondStatus is an object without its status, who wrote that, and what the API server
// counts with each write. Not all kinds have a generation.
func beyondStatus(object *unstructured.Unstructured) map[string]any {
	rest := maps.Clone(object.Object)
	delete(rest, "status")
	if metadata, ok := rest["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		entries, _ := metadata["managedFields"].([]any)
		metadata["managedFields"] = slices.DeleteFunc(slices.Clone(entries), func(entry any) bool {
			e, _ := entry.(map[string]any)
			return e["subresource"] == "status"
		})
		rest["metadata"] = metadata
	}
	return rest
}

// operand is an empty object of a kind, as the cache keeps it for the apply engine.
func operand(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// leaving lets deletions pass, and the moment in which one is over.
func leaving() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}

// watchDatabase watches the Secret with the database's address, without its content.
// A cache of its own keeps all other Secrets out of memory and out of our rights.
func (r *Reconciler) watchDatabase(mgr ctrl.Manager, c controller.Controller) error {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := types.NamespacedName{Namespace: r.Settings.InfraNamespace, Name: v1alpha1.DatabaseSecretName}
	secrets, err := trigger.CacheOf(mgr, secret, key)
	if err != nil {
		return err
	}
	if err := c.Watch(source.Kind[client.Object](secrets, secret, trigger.Enqueue(r.all))); err != nil {
		return fmt.Errorf("watch Secret %s: %w", v1alpha1.DatabaseSecretName, err)
	}
	return nil
}

// optional is a kind of others that is watched once it is served.
type optional struct {
	api       facts.API
	object    func(schema.GroupVersionKind) client.Object
	concerned trigger.Concerned
	matters   func(before, after client.Object) bool
}

// watchOptional adds the watches of kinds that may be missing. Each time one appears
// or goes all tenants are looked at, for what is written depends on it.
func (r *Reconciler) watchOptional(ctx context.Context, mgr ctrl.Manager, c controller.Controller) error {
	everything := func(_, _ client.Object) bool { return true }
	untyped := func(kind schema.GroupVersionKind) client.Object { return operand(kind) }
	apis, _ := written()
	watched := make([]optional, 0, len(apis)+4)
	watched = append(watched,
		optional{gateways, func(schema.GroupVersionKind) client.Object { return &gwapiv1.Gateway{} }, r.ofGateway, everything},
		optional{externalModels, func(schema.GroupVersionKind) client.Object { return &inferencev1alpha1.ExternalModel{} }, r.ofExternalModel, formatChanged},
		optional{authorinos, untyped, r.all, trigger.NewGeneration},
		optional{dataScienceClusters, untyped, r.all, everything},
	)
	for _, api := range apis {
		watched = append(watched, optional{api, untyped, r.ofPolicy, everything})
	}
	all := func(context.Context) error { return c.Watch(trigger.EnqueueOnce(r.all)) }
	var errs []error
	for _, w := range watched {
		errs = append(errs, r.APIs.OnFirstServed(ctx, w.api, func(_ context.Context, gvk schema.GroupVersionKind) error {
			return c.Watch(source.Kind(mgr.GetCache(), w.object(gvk), trigger.Enqueue(w.concerned), trigger.OnUpdate(w.matters)))
		}))
	}
	for _, api := range append(apis, gateways, authConfigs, authorinos, dataScienceClusters, externalModels, envoyFilters, wasmPlugins) {
		r.APIs.OnGone(api, all)
		errs = append(errs, r.APIs.OnServed(ctx, api, func(ctx context.Context, _ schema.GroupVersionKind) error { return all(ctx) }))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("watch what tenants depend on: %w", err)
	}
	return nil
}
