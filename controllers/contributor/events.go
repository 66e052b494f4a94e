// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/conditions"
)

// announce records what became of the object: that it fails, that it works again,
// and that foreign policies came and went. What merely waits is no news, and
// neither is the first success.
func (c *Controller[T]) announce(before, after T) {
	key := client.ObjectKeyFromObject(after)
	was, now := c.conditions(before, v1alpha1.ConditionReady), c.conditions(after, v1alpha1.ConditionReady)
	if was.Status == metav1.ConditionFalse {
		c.failed.remember(key)
	}
	switch {
	case now.Status == metav1.ConditionFalse:
		c.failed.remember(key)
		if was.Status != metav1.ConditionFalse {
			c.record(after, corev1.EventTypeWarning, now.Reason, now.Message)
		}
	case now.Status == metav1.ConditionTrue && c.failed.forget(key):
		c.record(after, corev1.EventTypeNormal, now.Reason, "The gateway enforces all entries again.")
	}

	was, now = c.conditions(before, v1alpha1.ConditionConflictingAuthPolicy), c.conditions(after, v1alpha1.ConditionConflictingAuthPolicy)
	switch conflicted := was.Status == metav1.ConditionTrue; {
	case now.Status == metav1.ConditionTrue && !conflicted:
		c.record(after, corev1.EventTypeWarning, string(v1alpha1.EventConflictingAuthPolicy), now.Message)
	case now.Status == metav1.ConditionFalse && conflicted:
		c.record(after, corev1.EventTypeNormal, string(v1alpha1.EventConflictingAuthPolicyResolved), "No other AuthPolicy targets the route of a model any more.")
	}
}

// conditions reads a condition; the zero value when there is none.
func (c *Controller[T]) conditions(object T, kind v1alpha1.ConditionType) metav1.Condition {
	if found := meta.FindStatusCondition(*c.kind.Conditions(object), string(kind)); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func (c *Controller[T]) record(object T, severity, reason, note string) {
	c.events.Eventf(object, nil, severity, reason, string(v1alpha1.ActionReconcile), "%s", conditions.Truncate(note))
}

// memory knows the objects that failed and do not work again yet: between the two
// they wait, and their status no longer tells. What it forgets with a restart is
// one event. The zero value is ready, for concurrent use.
type memory struct {
	mu   sync.Mutex
	keys sets.Set[types.NamespacedName]
}

func (m *memory) remember(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = sets.New[types.NamespacedName]()
	}
	m.keys.Insert(key)
}

// forget reports whether the object was remembered.
func (m *memory) forget(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.keys.Has(key)
	m.keys.Delete(key)
	return known
}
