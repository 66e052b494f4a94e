// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// stamp sets or clears the gateway in a tenant's status.
func (c *corner) stamp(ctx context.Context, tenant *v1alpha1.AITenant, on bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Admin.Get(ctx, client.ObjectKeyFromObject(tenant), tenant); err != nil {
			return err
		}
		tenant.Status.GatewayRef = nil
		if on {
			tenant.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: stage.GatewayNamespace, Name: redName}
		}
		return c.Admin.Status().Update(ctx, tenant)
	})
}

// policy is the generated policy of a model.
func (c *corner) policy(kind string, model named) *unstructured.Unstructured {
	prefix := "maas-trlp-"
	if kind == kuadrant.AuthPolicy.Kind {
		prefix = "maas-auth-"
	}
	key := c.key(model)
	policy := policyOfKind(kind)
	policy.SetNamespace(key.Namespace)
	policy.SetName(prefix + key.Name)
	return policy
}

// meddle writes a generated policy as somebody else, if it exists and may be
// written, and remembers what it is while it is out of the operator's hands.
func (c *corner) meddle(ctx context.Context, policy *unstructured.Unstructured, mutate func(p *unstructured.Unstructured) bool) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := c.Admin.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		if policy.GetDeletionTimestamp() != nil || !mutate(policy) {
			return nil
		}
		if policy.GetKind() != kuadrant.AuthPolicy.Kind {
			c.history.LimitsDrifted = true
		}
		if err := c.Admin.Update(ctx, policy, client.FieldOwner("somebody")); err != nil {
			return err
		}
		delete(c.history.Frozen, oracle.KeyOf(policy))
		if optedOut(policy) {
			c.history.Frozen[oracle.KeyOf(policy)] = policy.DeepCopy()
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func optedOut(policy *unstructured.Unstructured) bool {
	return policy.GetAnnotations()[v1alpha1.AnnotationManaged] == "false"
}

func (p *planner) changeGenerated() step {
	kind, model := p.generated()
	what := fmt.Sprintf("the %s of model %s", kind, model)
	how := pick(p, slices.Sorted(maps.Keys(drifts()))...)
	return pick(p,
		step{name: "delete " + what, run: func(ctx context.Context, c *corner) error {
			policy := c.policy(kind, model)
			delete(c.history.Frozen, oracle.KeyOf(policy))
			return c.delete(ctx, policy)
		}},
		step{name: "opt out " + what, run: func(ctx context.Context, c *corner) error {
			return c.meddle(ctx, c.policy(kind, model), func(p *unstructured.Unstructured) bool { return optOut(p, "false") })
		}},
		step{name: "opt in " + what, run: func(ctx context.Context, c *corner) error {
			return c.meddle(ctx, c.policy(kind, model), func(p *unstructured.Unstructured) bool { return optedOut(p) && optOut(p, "true") })
		}},
		step{name: how + " of " + what, run: func(ctx context.Context, c *corner) error {
			return c.meddle(ctx, c.policy(kind, model), drifts()[how])
		}},
		step{name: how + " of " + what, run: func(ctx context.Context, c *corner) error {
			return c.meddle(ctx, c.policy(kind, model), drifts()[how])
		}})
}

// optOut sets the annotation of a policy that is recognisably the operator's.
func optOut(p *unstructured.Unstructured, value string) bool {
	if p.GetLabels()[v1alpha1.LabelManagedBy] == "" {
		return false // Somebody took the label off, and nobody could tell whose policy this is.
	}
	annotations := p.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationManaged] = value
	p.SetAnnotations(annotations)
	return true
}

// drifts are what somebody may do to a generated policy by hand. Kuadrant
// accepts the outcome of each.
func drifts() map[string]func(p *unstructured.Unstructured) bool {
	return map[string]func(p *unstructured.Unstructured) bool{
		"add a rule":             addRule,
		"weaken a rule":          weakenRule,
		"drop the annotations":   dropAnnotations,
		"drop a label":           dropLabel,
		"turn the target":        turnTarget,
		"add a label nobody has": addLabel,
	}
}

func addRule(p *unstructured.Unstructured) bool {
	if p.GetKind() == kuadrant.AuthPolicy.Kind {
		return unstructured.SetNestedMap(p.Object, map[string]any{}, "spec", "rules", "authentication", "anyone", "anonymous") == nil
	}
	return unstructured.SetNestedMap(p.Object, map[string]any{
		"rates": []any{map[string]any{"limit": int64(7), "window": "1m"}},
		"when":  []any{map[string]any{"predicate": `auth.identity.userid != ""`}},
	}, "spec", "limits", "extra") == nil
}

func weakenRule(p *unstructured.Unstructured) bool {
	if p.GetKind() == kuadrant.AuthPolicy.Kind {
		unstructured.RemoveNestedField(p.Object, "spec", "rules", "authorization", "subject-allowed")
		return true
	}
	limits, _, _ := unstructured.NestedMap(p.Object, "spec", "limits")
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		predicate := []any{map[string]any{"predicate": `auth.identity.selected_subscription_id == "0000000000000000"`}}
		return unstructured.SetNestedSlice(p.Object, predicate, "spec", "limits", name, "when") == nil
	}
	return false
}

func dropAnnotations(p *unstructured.Unstructured) bool {
	annotations := p.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "maas.opendatahub.io/") })
	p.SetAnnotations(annotations)
	return true
}

func dropLabel(p *unstructured.Unstructured) bool {
	labels := p.GetLabels()
	delete(labels, v1alpha1.LabelManagedBy)
	p.SetLabels(labels)
	return !optedOut(p)
}

func addLabel(p *unstructured.Unstructured) bool {
	labels := p.GetLabels()
	labels["example.com/colour"] = "red"
	p.SetLabels(labels)
	return true
}

func turnTarget(p *unstructured.Unstructured) bool {
	return unstructured.SetNestedField(p.Object, "elsewhere", "spec", "targetRef", "name") == nil
}

const foreignPrefix = "foreign-"

// changeForeign creates or deletes an AuthPolicy that is not the operator's.
func (p *planner) changeForeign() step {
	route := p.route(p.IntN(3))
	foreign := func(c *corner) *unstructured.Unstructured {
		key := c.key(route)
		policy := policyOfKind(kuadrant.AuthPolicy.Kind)
		policy.SetNamespace(key.Namespace)
		policy.SetName(foreignPrefix + key.Name)
		policy.Object["spec"] = map[string]any{
			"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": key.Name},
			"rules":     map[string]any{"authentication": map[string]any{"anyone": map[string]any{"anonymous": map[string]any{}}}},
		}
		return policy
	}
	remove := step{name: fmt.Sprintf("delete the foreign AuthPolicy on route %s", route), run: func(ctx context.Context, c *corner) error {
		return c.delete(ctx, foreign(c))
	}}
	add := step{name: fmt.Sprintf("create a foreign AuthPolicy on route %s", route), run: func(ctx context.Context, c *corner) error {
		_, err := c.create(ctx, foreign(c))
		return err
	}}
	return pick(p, add, remove)
}
