// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package externalmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/external"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=externalmodels,verbs=list;watch;patch
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=externalmodels/status,verbs=patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=externalmodels/finalizers,verbs=update
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs;aitenants;maastenantconfigs;tenants,verbs=list;watch
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalmodels,verbs=list;watch;patch
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalmodels/status,verbs=patch
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalmodels/finalizers,verbs=update
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalproviders,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=networking.istio.io,resources=serviceentries;destinationrules,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.istio.io,resources=envoyfilters,verbs=get
// +kubebuilder:rbac:groups=extensions.istio.io,resources=wasmplugins,verbs=get
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches. Those of kinds that are not
// installed are added when they appear.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("externalmodel").
		WithOptions(trigger.Options(r.MaxConcurrentReconciles)).
		For(&v1alpha1.ExternalModel{}, builder.WithPredicates(trigger.OnUpdate(changed))).
		Watches(&v1alpha1.ExternalModel{}, trigger.Enqueue(r.sharing), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.MaaSModelRef{}, trigger.Enqueue(r.published), builder.WithPredicates(trigger.SpecChanged)).
		Watches(service, trigger.Enqueue(owner), builder.WithPredicates(trigger.OnUpdate(trigger.Rewritten))).
		Watches(&v1alpha1.AITenant{}, trigger.Enqueue(r.all), builder.WithPredicates(trigger.OnUpdate(trigger.TenantMoved))).
		Watches(&v1alpha1.MaasTenantConfig{}, trigger.Enqueue(r.all), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&v1alpha1.Tenant{}, trigger.Enqueue(r.all), builder.WithPredicates(trigger.OnUpdate(trigger.Drifted))).
		Watches(&corev1.Namespace{}, trigger.Enqueue(r.endingIn), builder.WithPredicates(comesOrGoes)).
		Build(r.Metrics.Wrap("externalmodel", v1alpha1.KindExternalModel, r))
	if err != nil {
		return fmt.Errorf("set up controller externalmodel: %w", err)
	}
	return r.watchOptional(ctx, mgr, c)
}

// watchOptional adds the watches of kinds that may be missing. Each time one appears or
// goes comes a look at every model.
func (r *Reconciler) watchOptional(ctx context.Context, mgr ctrl.Manager, c controller.Controller) error {
	all := func(context.Context) error { return c.Watch(trigger.EnqueueOnce(r.all)) }
	add := func(api facts.API, object func() client.Object, models trigger.Concerned, relevant func(before, after client.Object) bool) error {
		r.APIs.OnGone(api, all)
		return errors.Join(
			r.APIs.OnFirstServed(ctx, api, func(context.Context, schema.GroupVersionKind) error {
				return c.Watch(source.Kind(mgr.GetCache(), object(), trigger.Enqueue(models), trigger.OnUpdate(relevant)))
			}),
			r.APIs.OnServed(ctx, api, func(ctx context.Context, _ schema.GroupVersionKind) error { return all(ctx) }),
		)
	}
	of := func(api facts.API) func() client.Object { return func() client.Object { return empty(api) } }
	return errors.Join(
		add(serviceEntries, of(serviceEntries), r.holding, trigger.Drifted),
		add(destinationRules, of(destinationRules), r.holding, trigger.Drifted),
		add(httpRoutes, of(httpRoutes), r.routed, routeChanged),
		add(inferenceExternalModels, func() client.Object { return &inferencev1alpha1.ExternalModel{} }, r.named, changed),
		add(externalProviders, func() client.Object { return &inferencev1alpha1.ExternalProvider{} }, r.provided, trigger.Drifted),
		add(trigger.AuthPolicies, func() client.Object { return kuadrant.New(kuadrant.AuthPolicy) }, r.guarded, anyChange),
	)
}

// comesOrGoes leaves out what happens to an object meanwhile.
var comesOrGoes = predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}

func anyChange(_, _ client.Object) bool { return true }

// changed adds our own write to a changed spec: a look that came between the write and
// its arrival in the cache compared with the old status.
func changed(before, after client.Object) bool {
	return trigger.Drifted(before, after) || !equality.Semantic.DeepEqual(statusOf(before), statusOf(after))
}

func statusOf(object client.Object) any {
	switch model := object.(type) {
	case *v1alpha1.ExternalModel:
		return model.Status
	case *inferencev1alpha1.ExternalModel:
		return model.Status
	default:
		return nil
	}
}

// routeChanged holds for spec, marks and what is said about a route.
func routeChanged(before, after client.Object) bool {
	a, ok := before.(*unstructured.Unstructured)
	b, alsoOK := after.(*unstructured.Unstructured)
	return !ok || !alsoOK || trigger.Drifted(a, b) || !equality.Semantic.DeepEqual(a.Object["status"], b.Object["status"])
}

// owner is the name whose ExternalModel, of either group, an object was made for.
func owner(_ context.Context, object client.Object) ([]types.NamespacedName, error) {
	of := metav1.GetControllerOf(object)
	if of == nil || of.Kind != v1alpha1.KindExternalModel ||
		of.APIVersion != v1alpha1.GroupVersion.String() && of.APIVersion != inferencev1alpha1.GroupVersion.String() {
		return nil, nil
	}
	return []types.NamespacedName{{Namespace: object.GetNamespace(), Name: of.Name}}, nil
}

// holding is the model that holds what its host's models share, and those.
func (r *Reconciler) holding(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	keys, err := owner(ctx, object)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	model := &v1alpha1.ExternalModel{}
	model.Namespace, model.Name = keys[0].Namespace, keys[0].Name
	if live, ok := object.(*unstructured.Unstructured); ok {
		model.Spec.Endpoint = external.HostOf(live)
	}
	more, err := r.sharing(ctx, model)
	return append(keys, more...), err
}

// sharing are the models that have the host or the target of a model.
func (r *Reconciler) sharing(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	model, ok := object.(*v1alpha1.ExternalModel)
	if !ok {
		return nil, nil
	}
	host := external.Normal(model.Spec.Endpoint)
	return r.which(ctx, func(m *v1alpha1.ExternalModel) bool {
		return external.Normal(m.Spec.Endpoint) == host || m.Spec.TargetModel == model.Spec.TargetModel
	})
}

// named is the name of an ExternalModel of the inference group, and those that share
// something with either model of that name: it may be the other one that counts now.
func (r *Reconciler) named(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	theirs, ok := object.(*inferencev1alpha1.ExternalModel)
	if !ok {
		return nil, nil
	}
	keys := []types.NamespacedName{client.ObjectKeyFromObject(theirs)}
	providers, err := r.providers(ctx, client.InNamespace(theirs.Namespace))
	if err != nil {
		return nil, err
	}
	translation, err := external.Translate(theirs, func(name string) *inferencev1alpha1.ExternalProvider {
		return providers[types.NamespacedName{Namespace: theirs.Namespace, Name: name}]
	})
	if err == nil {
		more, err := r.sharing(ctx, translation.Model)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	own, err := fetch.Optional(ctx, r.Client, keys[0], &v1alpha1.ExternalModel{})
	if err != nil || own == nil {
		return keys, err
	}
	more, err := r.sharing(ctx, own)
	return append(keys, more...), err
}

// provided are the models of the inference group that name a provider, and those of its
// host.
func (r *Reconciler) provided(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	provider, ok := object.(*inferencev1alpha1.ExternalProvider)
	if !ok {
		return nil, nil
	}
	host := external.Normal(provider.Spec.Endpoint)
	keys, err := r.which(ctx, func(m *v1alpha1.ExternalModel) bool { return external.Normal(m.Spec.Endpoint) == host })
	if err != nil {
		return nil, err
	}
	models, err := r.inferenceModels(ctx, client.InNamespace(provider.Namespace), client.UnsafeDisableDeepCopy)
	for key, model := range models {
		if slices.ContainsFunc(model.Spec.ExternalProviderRefs, func(b inferencev1alpha1.ExternalProviderBinding) bool { return b.Ref.Name == provider.Name }) {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// published is the model that a MaaSModelRef publishes, and those of its target.
func (r *Reconciler) published(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	ref, ok := object.(*v1alpha1.MaaSModelRef)
	if !ok || ref.Spec.ModelRef.Kind != v1alpha1.BackendExternalModel {
		return nil, nil
	}
	return r.rivals(ctx, []types.NamespacedName{{Namespace: ref.Namespace, Name: ref.Spec.ModelRef.Name}})
}

// routed are the models of a route: the one it was made for, the one whose objects have its
// name, and those of the inference group whose status names it.
func (r *Reconciler) routed(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	keys, err := owner(ctx, object)
	if err != nil || len(keys) > 0 {
		return keys, err
	}
	if keys, err = r.having(ctx, object.GetNamespace(), object.GetName()); err != nil {
		return nil, err
	}
	models, err := r.inferenceModels(ctx, client.InNamespace(object.GetNamespace()), client.UnsafeDisableDeepCopy)
	for key, model := range models {
		if model.Status.HTTPRouteName == object.GetName() {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// guarded are the models whose route a policy targets, and those of their target.
func (r *Reconciler) guarded(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	policy, ok := object.(*unstructured.Unstructured)
	if !ok || kuadrant.TargetRoute(policy) == "" {
		return nil, nil
	}
	keys, err := r.having(ctx, policy.GetNamespace(), kuadrant.TargetRoute(policy))
	if err != nil {
		return nil, err
	}
	return r.rivals(ctx, keys)
}

// having are the models of a namespace whose objects have a name.
func (r *Reconciler) having(ctx context.Context, namespace, name string) ([]types.NamespacedName, error) {
	return r.which(ctx, func(m *v1alpha1.ExternalModel) bool { return external.Name(m.Name) == name }, client.InNamespace(namespace))
}

// endingIn are the models whose host may be a Service of a namespace.
func (r *Reconciler) endingIn(ctx context.Context, object client.Object) ([]types.NamespacedName, error) {
	return r.which(ctx, func(m *v1alpha1.ExternalModel) bool { return external.EndsIn(m.Spec.Endpoint, object.GetName()) })
}

// all is for changes that are rare and may concern any model.
func (r *Reconciler) all(ctx context.Context, _ client.Object) ([]types.NamespacedName, error) {
	return r.which(ctx, func(*v1alpha1.ExternalModel) bool { return true })
}

// which are the names with a model, of either group, that a condition holds for.
func (r *Reconciler) which(ctx context.Context, holds func(*v1alpha1.ExternalModel) bool, opts ...client.ListOption) ([]types.NamespacedName, error) {
	subjects, err := r.subjects(ctx, opts...)
	if err != nil {
		return nil, err
	}
	var keys []types.NamespacedName
	for _, s := range subjects {
		if s.own != nil && holds(s.own) || s.theirs != nil && holds(s.translation.Model) {
			keys = append(keys, client.ObjectKeyFromObject(s.object()))
		}
	}
	return keys, nil
}
