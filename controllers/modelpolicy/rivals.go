// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/fetch"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

// Kuadrant enforces one policy of a kind on each rule of a route: one with overrides,
// of the Gateway first; else the newest of the route. Whoever can write AuthPolicies
// beside a model can so decide who gets through, and the model has to say it.
const (
	rivalled = "Kuadrant enforces policies of somebody else on the model's HTTPRoute, or on a part of it, in the place of the generated ones: who may call the model, and how much, is not what its MaaSAuthPolicies and MaaSSubscriptions say. Delete or retarget: %s."
	unnamed  = "a policy that the status of %s %s/%s names"
)

// overridden says that policies of others are in force on the model's route, and which;
// empty when none is known to be. Without an AuthPolicy of the model any other that is
// in force decides.
func (r *Reconciler) overridden(ctx context.Context, s *scope) (string, error) {
	held, err := r.observeHeld(ctx, s)
	if err != nil {
		return "", err
	}
	var found []string
	if s.output.AuthPolicy == nil && !held {
		rivals, err := r.onSameRoute(ctx, s, kuadrant.AuthPolicy, kuadrant.InForce)
		if err != nil {
			return "", err
		}
		found = rivals
	}
	for _, kind := range s.displaced {
		rivals, err := r.rivals(ctx, s, kind)
		if err != nil {
			return "", err
		}
		found = append(found, rivals...)
	}
	switch before := meta.FindStatusCondition(s.before.Status.Conditions, string(v1alpha1.ConditionPoliciesApplied)); {
	case len(found) > 0:
		return fmt.Sprintf(rivalled, strings.Join(found, ", ")), nil
	case len(s.displaced) == 0:
		return "", nil
	case before != nil && before.Reason == string(v1alpha1.ReasonOverridden):
		return before.Message, nil // It has just gone, and Kuadrant will say so.
	default:
		return fmt.Sprintf(rivalled, fmt.Sprintf(unnamed, s.displaced[0].Kind, s.ref.Namespace, policyName(s.displaced[0], s.ref.Name))), nil
	}
}

// observeHeld takes note of what became of an AuthPolicy that stays as it is: others can
// be in force in its place all the same. It reports whether there is one.
func (r *Reconciler) observeHeld(ctx context.Context, s *scope) (bool, error) {
	if s.output.AuthPolicyHeld == nil {
		return false, nil
	}
	key := types.NamespacedName{Namespace: s.ref.Namespace, Name: model.AuthPolicyName(s.ref.Name)}
	live, err := fetch.Optional(ctx, r.Client, key, kuadrant.New(kuadrant.AuthPolicy))
	if err != nil || live == nil {
		return false, err
	}
	if kuadrant.Displaced(live) {
		s.displaced = append(s.displaced, kuadrant.AuthPolicy)
	}
	return true, nil
}

// rivals names the policies that can be in force in the place of a generated one.
func (r *Reconciler) rivals(ctx context.Context, s *scope, kind schema.GroupVersionKind) ([]string, error) {
	found, err := r.onSameRoute(ctx, s, kind, func(*unstructured.Unstructured) bool { return true })
	if err != nil {
		return nil, err
	}
	gateway := s.input.Tenant.Gateway
	forced, err := r.named(ctx, kind, gateway.Namespace, func(p *unstructured.Unstructured) bool {
		return kuadrant.TargetGateway(p) == gateway.Name && kuadrant.Overrides(p)
	})
	return append(found, forced...), err
}

// onSameRoute names the other policies of a kind on the model's route that are meant,
// whoever they say has made them.
func (r *Reconciler) onSameRoute(ctx context.Context, s *scope, kind schema.GroupVersionKind, meant func(*unstructured.Unstructured) bool) ([]string, error) {
	return r.named(ctx, kind, s.ref.Namespace, func(p *unstructured.Unstructured) bool {
		return s.input.Route != "" && kuadrant.TargetRoute(p) == s.input.Route && p.GetName() != policyName(kind, s.ref.Name) && meant(p)
	})
}

// named names the policies of a kind in a namespace that are meant and not about to go.
func (r *Reconciler) named(ctx context.Context, kind schema.GroupVersionKind, namespace string, meant func(*unstructured.Unstructured) bool) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list policies of kind %s in namespace %s: %w", kind.Kind, namespace, err)
	}
	var out []string
	for i := range list.Items {
		if p := &list.Items[i]; p.GetDeletionTimestamp() == nil && meant(p) {
			out = append(out, fmt.Sprintf("%s %s/%s", kind.Kind, namespace, p.GetName()))
		}
	}
	slices.Sort(out)
	return out, nil
}

func policyName(kind schema.GroupVersionKind, name string) string {
	if kind == kuadrant.AuthPolicy {
		return model.AuthPolicyName(name)
	}
	return model.TokenRateLimitPolicyName(name)
}
