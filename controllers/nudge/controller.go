// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nudge gives Kuadrant another reason to judge the generated policies when it
// does not call all of them enforced for long. Its unit of work is the whole cluster,
// because Kuadrant judges all policies whenever something changes that it looks at.
// When that is due is decided in internal/desired/nudge; what the policies say, and what
// becomes of their status, belongs to other controllers.
//
// # Why an HTTPRoute
//
// Kuadrant lists everything, judges it, and writes each status once. Its write is lost
// when the policy was changed since the list, and the status stays as it was until
// Kuadrant has another reason to look. Where the change was one of the spec, that is the
// reason. One of the metadata is none: an annotation by somebody, or by the operator,
// which notes the generations that went into a model's policy. Of policies Kuadrant only
// looks at new generations.
//
// A new generation would be a reason, but it would take back what is known of the policy,
// and have the gateways configured anew. Of routes it looks at every change. So an
// annotation of a route that the operator has generated is changed.
// Source: kuadrant-operator 1.5, internal/controller/state_of_the_world.go.
package nudge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/trigger"
	"github.com/opendatahub-io/maas-operator/internal/desired/nudge"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/metrics"
)

const (
	// patience is how long Kuadrant gets by itself. As a rule it takes seconds.
	patience = 30 * time.Second
	// longest is the longest time between two reasons for the same policy: with hundreds
	// of models Kuadrant takes minutes for one look at all of them.
	longest = 10 * time.Minute
	// parts is into how many parts the time is divided for which changes are collected.
	parts = 10
)

// httpRoutes are the kind that is written.
var httpRoutes = facts.API{
	GroupKind: schema.GroupKind{Group: gwapiv1.GroupName, Kind: "HTTPRoute"},
	CRD:       "httproutes." + gwapiv1.GroupName,
	Versions:  []string{gwapiv1.GroupVersion.Version},
}

// Reconciler nudges Kuadrant. It works on one request at a time.
type Reconciler struct {
	// Client reads from the cache, unstructured objects included, and writes.
	Client client.Client
	// APIs knows which of the kinds of others are installed.
	APIs *facts.OptionalAPIs
	// Clock tells how long policies wait.
	Clock clock.PassiveClock
	// Patience is how long a policy may wait before the first time; 0 for half a minute.
	Patience time.Duration
	// Metrics counts and measures; nil for none.
	Metrics *metrics.Metrics

	memory nudge.Memory
}

// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies;tokenratelimitpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=list;watch;patch

// SetupWithManager registers the controller, and its watches as soon as the cluster
// serves the kinds of policies. Nothing is due at once, so changes are collected.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("nudge").WithOptions(trigger.Options(1))
	c, err := b.WatchesRawSource(trigger.EnqueueOnce(cluster)).Build(r.Metrics.Wrap("nudge", kuadrant.AuthPolicy.Kind, r))
	if err != nil {
		return fmt.Errorf("set up controller nudge: %w", err)
	}
	collect := trigger.EnqueueAfter(cluster, func(types.NamespacedName) time.Duration { return r.bounds().Patience / parts })
	for _, api := range policies() {
		if err := trigger.WatchPolicies(ctx, r.APIs, api, trigger.Watch{Controller: c, Cache: mgr.GetCache(), Handler: collect}); err != nil {
			return fmt.Errorf("watch %s: %w", api.CRD, err)
		}
	}
	return nil
}

// cluster is the one request that there is.
func cluster(context.Context, client.Object) ([]types.NamespacedName, error) {
	return []types.NamespacedName{{Name: "cluster"}}, nil
}

// policies are the kinds of generated policies.
func policies() []facts.API {
	return []facts.API{trigger.AuthPolicies, trigger.TokenRateLimitPolicies}
}

func (r *Reconciler) bounds() nudge.Bounds {
	b := nudge.Bounds{Patience: cmp.Or(r.Patience, patience)}
	b.Longest = max(longest, b.Patience)
	return b
}

// Reconcile looks at all generated policies, and nudges Kuadrant when it is due.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	look := nudge.Look{Now: r.Clock.Now()}
	names := map[types.UID]string{}
	for _, api := range policies() {
		generated, err := r.generated(ctx, api)
		if err != nil {
			return ctrl.Result{}, err
		}
		for _, policy := range generated {
			look.Alive = look.Alive || kuadrant.Judged(policy)
			if said, unsettled := kuadrant.Unsettled(policy); unsettled {
				look.Cases = append(look.Cases, nudge.Case{Policy: policy.GetUID(), Generation: policy.GetGeneration(), Said: said})
				names[policy.GetUID()] = policy.GetKind() + " " + klog.KObj(policy).String()
			}
		}
	}
	memory, verdict := r.bounds().Decide(r.memory, look)
	if len(verdict.Due) > 0 {
		if err := r.nudge(ctx, look.Now, len(verdict.Due), names[verdict.Due[0].Policy]); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.memory = memory
	return ctrl.Result{RequeueAfter: verdict.Again}, nil
}

// generated lists what the operator has generated of a kind and still manages, sorted by
// namespace and name; nothing when the kind is not served. The objects are the cache's
// own, for there can be a thousand and they are only read: change none.
func (r *Reconciler) generated(ctx context.Context, api facts.API) ([]*unstructured.Unstructured, error) {
	kind, served, err := r.APIs.Served(api)
	if err != nil || !served {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	ours := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}
	if err := r.Client.List(ctx, list, ours, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list generated objects of %s: %w", api.CRD, err)
	}
	var found []*unstructured.Unstructured
	for i := range list.Items {
		if o := &list.Items[i]; o.GetDeletionTimestamp() == nil && o.GetAnnotations()[v1alpha1.AnnotationManaged] != "false" {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found, nil
}

// nudge changes the first generated route. Without one there is nothing to change, and
// the route that comes is reason enough. One that another controller owns is a copy.
func (r *Reconciler) nudge(ctx context.Context, now time.Time, waiting int, first string) error {
	routes, err := r.generated(ctx, httpRoutes)
	if err != nil {
		return err
	}
	routes = slices.DeleteFunc(routes, func(o *unstructured.Unstructured) bool {
		return metav1.GetControllerOfNoCopy(o) != nil || o.GetLabels()[v1alpha1.LabelPartOf] != v1alpha1.PartOfMaaS
	})
	if len(routes) == 0 {
		return nil
	}
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(routes[0].GroupVersionKind())
	route.SetNamespace(routes[0].GetNamespace())
	route.SetName(routes[0].GetName())
	before := client.MergeFrom(route.DeepCopy())
	route.SetAnnotations(map[string]string{v1alpha1.AnnotationNudgedAt: now.UTC().Format(time.RFC3339Nano)})
	ctrl.LoggerFrom(ctx).Info("Nudging Kuadrant, which does not call all policies enforced for long", "HTTPRoute", klog.KObj(route), "policies", waiting, "first", first)
	if err := r.Client.Patch(ctx, route, before, client.FieldOwner(v1alpha1.FieldOwnerNudge)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("nudge Kuadrant by HTTPRoute %s: %w", klog.KObj(route), err)
	}
	return nil
}
