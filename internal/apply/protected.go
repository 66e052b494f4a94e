// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// protectedFields names the top-level fields of an object that are wholly ours, because something added to them
// weakens what they protect. It is empty for every other kind.
func protectedFields(want *unstructured.Unstructured) []string {
	switch want.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "kuadrant.io", Kind: "AuthPolicy"},
		schema.GroupKind{Group: "kuadrant.io", Kind: "TokenRateLimitPolicy"},
		schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
		schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:
		return []string{"spec"}
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}:
		return []string{"rules"}
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		if _, aggregated := want.Object["aggregationRule"]; aggregated {
			return []string{"aggregationRule"} // a controller of the cluster writes the rules
		}
		return []string{"aggregationRule", "rules"}
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
		schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:
		return []string{"roleRef", "subjects"}
	default:
		return nil
	}
}

// updateProtected brings an object with protected fields to the desired state. The usual edit is one apply request.
// Apply alone never removes what another manager owns or nobody owns; such leftovers are removed by replacing the
// protected fields, which also ends the ownership of others, under the resourceVersion of the copy that was judged.
func (a *Applier) updateProtected(ctx context.Context, c *call) (*unstructured.Unstructured, error) {
	live := c.live
	if !c.diff.onlyExtra() || !a.shared(live, c.protected) {
		applied, err := a.serverApply(ctx, c, live.GetResourceVersion(), false)
		switch {
		case err == nil:
			live = applied
		case apierrors.IsInvalid(err) && len(c.diff.protected) > 0:
			// What others added may exclude what we want; without it the desired state can be valid.
			if live, err = a.replaceThenApply(ctx, c); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return a.settleProtected(ctx, c, live)
}

// replaceThenApply first removes what others added and then records our ownership.
func (a *Applier) replaceThenApply(ctx context.Context, c *call) (*unstructured.Unstructured, error) {
	replaced, err := a.replace(ctx, c, c.live, false)
	if err != nil {
		return nil, err
	}
	c.tookOver = true
	return a.serverApply(ctx, c, replaced.GetResourceVersion(), false)
}

// settleProtected makes sure that nothing but the desired state, as the server stores it, is left in the protected
// fields of live, the answer to our last write.
func (a *Applier) settleProtected(ctx context.Context, c *call, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !a.shared(live, c.protected) {
		if len(a.compare(c.want, live).protected) == 0 {
			return live, nil
		}
		normal, err := a.isNormalForm(ctx, c, live)
		if err != nil || normal {
			return live, err
		}
	}
	c.tookOver = true
	return a.replace(ctx, c, live, false)
}

// isNormalForm asks the server, without changing anything, whether the protected fields of live are exactly what it
// makes of the desired ones.
func (a *Applier) isNormalForm(ctx context.Context, c *call, live *unstructured.Unstructured) (bool, error) {
	probe, err := a.replace(ctx, c, live, true)
	if err != nil {
		return false, err
	}
	var d differences
	for _, field := range c.protected {
		d.wholeMember(field, field, probe.Object, live.Object)
	}
	return len(d.found) == 0, nil
}

// replace sends live with the protected fields exactly as desired and owned by nobody else. Everything else in live
// stays, and its resourceVersion guards the write.
func (a *Applier) replace(ctx context.Context, c *call, live *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	if !dryRun {
		var err error
		if live, err = a.whole(ctx, c, live); err != nil {
			return nil, err
		}
	}
	obj := live.DeepCopy()
	for _, field := range c.protected {
		if value, ok := c.want.Object[field]; ok {
			obj.Object[field] = runtime.DeepCopyJSONValue(value)
		} else {
			delete(obj.Object, field)
		}
	}
	a.claim(obj, c.protected)
	opts := []client.UpdateOption{client.FieldOwner(a.owner)}
	if dryRun {
		opts = append(opts, client.DryRunAll)
	}
	c.count(dryRun)
	if err := a.client.Update(ctx, obj, opts...); err != nil {
		return nil, fmt.Errorf("replace the protected fields of %s: %w", c, err)
	}
	return obj, nil
}

// onlyExtra reports whether the live object has everything desired and something more in its protected fields.
func (c comparison) onlyExtra() bool {
	return len(c.owned) == 0 && len(c.protected) > 0 &&
		!slices.ContainsFunc(c.protected, func(d Difference) bool { return d.Reason != Extra })
}
