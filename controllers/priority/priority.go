// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package priority tells on each MaaSSubscription whether others of its namespace
// have the same priority. It owns the condition SpecPriorityDuplicate and nothing
// else of the status.
//
// The condition rides along whenever package subscription writes a status. The
// controller here corrects those that nobody writes, namespace by namespace, some
// time after a change: creating many subscriptions at once costs no writes of
// their peers.
package priority

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
	"github.com/opendatahub-io/maas-operator/internal/index"
)

const sharedMessage = "Another MaaSSubscription of the namespace has the same spec.priority. Where a caller may use both, the larger limit and then the name decide which one a new API key gets: give each subscription a priority of its own."

// Shared tells whether another subscription of the namespace, one that is not being
// deleted, has the priority of this one.
func Shared(ctx context.Context, reader client.Reader, s *v1alpha1.MaaSSubscription) (bool, error) {
	var list v1alpha1.MaaSSubscriptionList
	err := reader.List(ctx, &list, client.InNamespace(s.Namespace),
		client.MatchingFields{index.SubscriptionByPriority: index.PriorityKey(s.Spec.Priority)},
		client.Limit(2), client.UnsafeDisableDeepCopy) // Of two at least one is another.
	if err != nil {
		return false, fmt.Errorf("list MaaSSubscriptions of priority %d in namespace %s: %w", s.Spec.Priority, s.Namespace, err)
	}
	for i := range list.Items {
		if list.Items[i].Name != s.Name {
			return true, nil
		}
	}
	return false, nil
}

// Set puts the condition onto the subscription and reports whether a reader would
// see a difference.
func Set(s *v1alpha1.MaaSSubscription, shared bool) bool {
	return conditions.Set(&s.Status.Conditions, v1alpha1.ConditionSpecPriorityDuplicate, s.Generation, value(shared)).Changed()
}

// right tells whether the condition is as it should be.
func right(s *v1alpha1.MaaSSubscription, shared bool) bool {
	want := value(shared)
	found := meta.FindStatusCondition(s.Status.Conditions, string(v1alpha1.ConditionSpecPriorityDuplicate))
	return found != nil && conditions.Value{Status: found.Status, Reason: found.Reason, Message: found.Message} == want
}

func value(shared bool) conditions.Value {
	if shared {
		return conditions.True(v1alpha1.ReasonSharedPriority, sharedMessage)
	}
	return conditions.False(v1alpha1.ReasonNoDuplicatePeers, "")
}
