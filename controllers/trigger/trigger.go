// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trigger holds what decides when a reconcile runs, for all controllers:
// which changes matter, what an object concerns, and what follows from the error
// of a reconcile. It also makes the caches for what the manager's leaves out. It lists
// names from the cache and writes nothing.
package trigger

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// SpecChanged lets pass a new generation and the start of a deletion.
var SpecChanged = OnUpdate(NewGeneration)

// ModelJudged lets pass what the statuses of the referring objects depend on in a
// model: that it exists, its tenant, its route and whether it is governed.
var ModelJudged = OnUpdate(func(before, after client.Object) bool {
	return ModelMoved(before, after) ||
		conditionChanged(before, after, v1alpha1.ConditionRouteUnique) || conditionChanged(before, after, v1alpha1.ConditionGovernanceAttached)
})

// conditionChanged compares what a reader sees of a model's condition.
func conditionChanged(before, after client.Object, kind v1alpha1.ConditionType) bool {
	a, ok := before.(*v1alpha1.MaaSModelRef)
	b, alsoOK := after.(*v1alpha1.MaaSModelRef)
	if !ok || !alsoOK {
		return true
	}
	old, now := meta.FindStatusCondition(a.Status.Conditions, string(kind)), meta.FindStatusCondition(b.Status.Conditions, string(kind))
	if old == nil || now == nil {
		return old != now
	}
	return old.Status != now.Status || old.Message != now.Message
}

// OnUpdate makes a predicate of a comparison; creations and deletions pass.
func OnUpdate(changed func(before, after client.Object) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return changed(e.ObjectOld, e.ObjectNew) }}
}

// NewGeneration holds for a changed spec and for the start of a deletion.
func NewGeneration(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}

// Drifted holds for every change but one of the status alone.
func Drifted(before, after client.Object) bool {
	return NewGeneration(before, after) ||
		!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations())
}

// Rewritten adds changes of the content to drift: not all kinds count generations, and
// Services are one that does not. It is for unstructured objects.
func Rewritten(before, after client.Object) bool {
	a, ok := before.(*unstructured.Unstructured)
	b, alsoOK := after.(*unstructured.Unstructured)
	return !ok || !alsoOK || Drifted(a, b) || !equality.Semantic.DeepEqual(content(a), content(b))
}

// content is an object without its metadata and status.
func content(object *unstructured.Unstructured) map[string]any {
	bare := make(map[string]any, len(object.Object))
	for name, member := range object.Object {
		if name != "metadata" && name != "status" {
			bare[name] = member
		}
	}
	return bare
}

// ModelMoved holds when a model's spec, route or tenant changed.
func ModelMoved(before, after client.Object) bool {
	a, ok := before.(*v1alpha1.MaaSModelRef)
	b, alsoOK := after.(*v1alpha1.MaaSModelRef)
	if !ok || !alsoOK {
		return true
	}
	return NewGeneration(a, b) || route(a) != route(b) || a.Status.ResolvedTenantRef != b.Status.ResolvedTenantRef
}

// route is where a model is reached: its route and the gateway that has it.
func route(m *v1alpha1.MaaSModelRef) [3]string {
	return [3]string{m.Status.HTTPRouteName, m.Status.HTTPRouteGatewayNamespace, m.Status.HTTPRouteGatewayName}
}

// ModelOfPolicy reads the model off a generated policy. The second result is
// false when the operator did not generate it.
func ModelOfPolicy(object client.Object) (types.NamespacedName, bool) {
	labels := object.GetLabels()
	if labels[v1alpha1.LabelModel] == "" || labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedByValue {
		return types.NamespacedName{}, false
	}
	namespace := labels[v1alpha1.LabelModelNamespace]
	if namespace == "" {
		namespace = object.GetNamespace() // Policies of earlier releases lack the label.
	}
	return types.NamespacedName{Namespace: namespace, Name: labels[v1alpha1.LabelModel]}, true
}
