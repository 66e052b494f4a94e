// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/random/oracle"
)

func (c *corner) key(n named) types.NamespacedName {
	return builder.Key(c.namespace(n.in), c.name(n.short))
}

func subscriptionWith(namespace, name string, entries ...v1alpha1.ModelSubscription) *v1alpha1.MaaSSubscription {
	s := builder.Subscription(namespace, name).Obj()
	s.Spec.ModelRefs = entries
	return s
}

// grant is one entry of a subscription in a plan.
type grant struct {
	model named
	terms terms
}

func (p *planner) grants() (out []grant) {
	for _, m := range p.models() {
		out = append(out, grant{m, p.terms()})
	}
	if p.chance(3) { // As only an earlier release stored it.
		out = append(out, grant{out[0].model, p.terms()})
	}
	return out
}

func (c *corner) entries(grants []grant) []v1alpha1.ModelSubscription {
	var out []v1alpha1.ModelSubscription
	for _, g := range grants {
		key := c.key(g.model)
		out = append(out, v1alpha1.ModelSubscription{Namespace: key.Namespace, Name: key.Name, Unlimited: g.terms.unlimited, TokenRateLimits: g.terms.rates})
	}
	return out
}

// noteLegacy remembers which limits may get a legacy member.
func (c *corner) noteLegacy(key types.NamespacedName, entries []v1alpha1.ModelSubscription) {
	if !c.history.MaybeLegacy[key.String()] {
		return
	}
	for i := range entries {
		if limit := oracle.LimitOf(&entries[i]); limit != "" {
			c.history.LegacyLimits[entries[i].Namespace+"/"+entries[i].Name+":"+limit] = true
		}
	}
}

func (p *planner) createSubscription(i int) step {
	n, grants, priority, legacy := p.subscription(i), p.grants(), int32(p.IntN(3)), p.chance(20)
	kind := "subscription"
	if legacy {
		kind = "legacy subscription"
	}
	return step{name: fmt.Sprintf("create %s %s of priority %d with %v", kind, n, priority, grants), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		s := subscriptionWith(key.Namespace, key.Name, c.entries(grants)...)
		s.Spec.Priority = priority
		if legacy {
			s.Finalizers = []string{v1alpha1.FinalizerSubscriptionCleanup}
		}
		created, err := c.create(ctx, s)
		if err != nil || !created {
			return err
		}
		c.history.BornLegacy[key.String()] = legacy
		c.history.MaybeLegacy[key.String()] = c.history.MaybeLegacy[key.String()] || legacy
		c.noteLegacy(key, s.Spec.ModelRefs)
		return nil
	}}
}

func (p *planner) deleteSubscription(i int) step {
	n := p.subscription(i)
	return step{name: "delete subscription " + n.String(), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		return c.delete(ctx, subscriptionWith(key.Namespace, key.Name))
	}}
}

func (p *planner) editSubscription(i int) step {
	n, grants, priority := p.subscription(i), p.grants(), int32(p.IntN(3))
	return step{name: fmt.Sprintf("edit subscription %s to priority %d with %v", n, priority, grants), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		entries := c.entries(grants)
		c.noteLegacy(key, entries)
		_, err := change(ctx, c, subscriptionWith(key.Namespace, key.Name), func(s *v1alpha1.MaaSSubscription) {
			s.Spec.ModelRefs, s.Spec.Priority = entries, priority
		})
		return err
	}}
}

func (p *planner) changeSubscription() step {
	i := p.IntN(len(p.subscriptions))
	n := p.subscription(i)
	//nolint:gocritic // Named twice because it shall be drawn twice as often.
	return pick(p, p.createSubscription, p.editSubscription, p.editSubscription, p.deleteSubscription, func(i int) step {
		again := p.createSubscription(i)
		return recreate("subscription "+n.String(), again, func(ctx context.Context, c *corner) error {
			key := c.key(n)
			s := subscriptionWith(key.Namespace, key.Name)
			if err := c.delete(ctx, s); err != nil {
				return err
			}
			return c.gone(ctx, s)
		})
	})(i)
}

func recreate(what string, again step, remove func(context.Context, *corner) error) step {
	return step{name: "delete " + what + " and at once " + again.name, run: func(ctx context.Context, c *corner) error {
		if err := remove(ctx, c); err != nil {
			return err
		}
		return again.run(ctx, c)
	}}
}

// subjects draws who may call; some groups have a name that nobody can be in.
func (p *planner) subjects() v1alpha1.Subjects {
	all := []string{"engineers", "admins", "system:authenticated", "a b"}
	var s v1alpha1.Subjects
	for _, group := range all {
		if p.chance(30) && (group != "a b" || p.chance(20)) {
			s.Groups = append(s.Groups, v1alpha1.GroupReference{Name: group})
		}
	}
	if p.chance(40) || len(s.Groups) == 0 {
		s.Users = append(s.Users, pick(p, "alice", "bob", "system:serviceaccount:apps:bot"))
	}
	if p.chance(3) {
		s = v1alpha1.Subjects{Groups: []v1alpha1.GroupReference{{Name: "a b"}}}
	}
	return s
}

func (p *planner) createAuthPolicy(i int) step {
	n, models, subjects := p.authPolicy(i), p.models(), p.subjects()
	return step{name: fmt.Sprintf("create auth policy %s for %v of %v", n, models, subjects), run: func(ctx context.Context, c *corner) error {
		object := c.newAuthPolicy(n, models)
		object.Spec.Subjects = subjects
		_, err := c.create(ctx, object)
		return err
	}}
}

func (c *corner) newAuthPolicy(n named, models []named) *v1alpha1.MaaSAuthPolicy {
	var keys []types.NamespacedName
	for _, m := range models {
		keys = append(keys, c.key(m))
	}
	key := c.key(n)
	return builder.AuthPolicy(key.Namespace, key.Name, keys...).Obj()
}

func (p *planner) changeAuthPolicy() step {
	i := p.IntN(len(p.authPolicies))
	n, models, subjects := p.authPolicy(i), p.models(), p.subjects()
	remove := func(ctx context.Context, c *corner) error { return c.delete(ctx, c.newAuthPolicy(n, nil)) }
	edit := step{name: fmt.Sprintf("edit auth policy %s to %v of %v", n, models, subjects), run: func(ctx context.Context, c *corner) error {
		wanted := c.newAuthPolicy(n, models)
		wanted.Spec.Subjects = subjects
		_, err := change(ctx, c, c.newAuthPolicy(n, nil), func(o *v1alpha1.MaaSAuthPolicy) { o.Spec = wanted.Spec })
		return err
	}}
	again := p.createAuthPolicy(i)
	return pick(p, again, edit, edit, step{name: "delete auth policy " + n.String(), run: remove}, recreate("auth policy "+n.String(), again, remove))
}
