// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// GatewayMoved lets pass what changed in a Gateway besides the number of its
// routes: with a thousand models that number changes a thousand times, and
// nothing but itself depends on it.
func GatewayMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*gwapiv1.Gateway)
		after, alsoOK := e.ObjectNew.(*gwapiv1.Gateway)
		return !ok || !alsoOK || before.Generation != after.Generation ||
			!equality.Semantic.DeepEqual(uncounted(before), uncounted(after))
	}}
}

// uncounted is the status of a Gateway without the numbers of routes.
func uncounted(gateway *gwapiv1.Gateway) gwapiv1.GatewayStatus {
	out := *gateway.Status.DeepCopy()
	for i := range out.Listeners {
		out.Listeners[i].AttachedRoutes = 0
	}
	return out
}
