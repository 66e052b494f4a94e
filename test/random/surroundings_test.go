// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package random

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
)

// tenantOf draws whom a model belongs to; "own" stands for the corner's tenant.
func (p *planner) tenantRef(i int) string {
	if i == 2 && p.third == inTenant {
		return pick(p, "", "", "", "own", "nobody")
	}
	return pick(p, "", "", "", "", "own", "own", "nobody")
}

func (c *corner) tenantName(ref string) string {
	if ref == "own" {
		return c.tenant
	}
	return ref
}

func (p *planner) createModel(i int) step {
	n, tenant := p.model(i), p.tenantRef(i)
	return step{name: fmt.Sprintf("create model %s of tenant %q", n, tenant), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		_, err := c.create(ctx, builder.ModelRef(key.Namespace, key.Name).Tenant(c.tenantName(tenant)).Obj())
		return err
	}}
}

func (p *planner) changeModel() step {
	i := p.IntN(3)
	n, tenant := p.model(i), p.tenantRef(i)
	remove := func(ctx context.Context, c *corner) error {
		key := c.key(n)
		return c.delete(ctx, builder.ModelRef(key.Namespace, key.Name).Obj())
	}
	removeWholly := func(ctx context.Context, c *corner) error {
		if err := remove(ctx, c); err != nil {
			return err
		}
		key := c.key(n)
		return c.gone(ctx, builder.ModelRef(key.Namespace, key.Name).Obj())
	}
	edit := step{name: fmt.Sprintf("move model %s to tenant %q", n, tenant), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		_, err := change(ctx, c, builder.ModelRef(key.Namespace, key.Name).Obj(), func(m *v1alpha1.MaaSModelRef) {
			m.Spec.TenantRef = c.tenantName(tenant)
		})
		return err
	}}
	again := p.createModel(i)
	return pick(p, again, again, edit, edit, step{name: "delete model " + n.String(), run: remove}, recreate("model "+n.String(), again, removeWholly))
}

// attachment is how a route hangs in the world.
type attachment struct{ gateway, hostname, service string }

// gateways and hostnames of routes: the right one, the other one, none.
func (p *planner) attachment(i int) attachment {
	a := attachment{gateway: stage.GatewayName, hostname: stage.Hostname}
	likely := 15
	if i == 2 && p.third == inTenant {
		likely = 85
	}
	switch {
	case p.chance(likely):
		a.gateway, a.hostname = redName, redHostname
	case p.chance(4):
		a.gateway = "missing"
	}
	if p.chance(4) {
		a.hostname = "elsewhere.example.com"
	}
	a.service = pick(p, "nobody", "nobody", p.model(i).short, p.model(p.IntN(3)).short)
	return a
}

func (c *corner) newRoute(n named, a attachment) *gwapiv1.HTTPRoute {
	key := c.key(n)
	return builder.Route(key.Namespace, key.Name, stage.GatewayNamespace, a.gateway).Hostnames(a.hostname).Of(c.name(a.service)).Obj()
}

func (p *planner) createRoute(i int) step {
	n, a := p.route(i), p.attachment(i)
	return step{name: fmt.Sprintf("create route %s below %v", n, a), run: func(ctx context.Context, c *corner) error {
		_, err := c.create(ctx, c.newRoute(n, a))
		return err
	}}
}

func (p *planner) changeRoute() step {
	i := p.IntN(3)
	n, a := p.route(i), p.attachment(i)
	remove := func(ctx context.Context, c *corner) error { return c.delete(ctx, c.newRoute(n, a)) }
	edit := step{name: fmt.Sprintf("move route %s below %v", n, a), run: func(ctx context.Context, c *corner) error {
		wanted := c.newRoute(n, a)
		_, err := change(ctx, c, newRoute(wanted.Namespace, wanted.Name), func(r *gwapiv1.HTTPRoute) {
			r.Spec.ParentRefs, r.Spec.Hostnames, r.Labels = wanted.Spec.ParentRefs, wanted.Spec.Hostnames, wanted.Labels
		})
		return err
	}}
	again := p.createRoute(i)
	return pick(p, again, again, again, edit, step{name: "delete route " + n.String(), run: remove}, recreate("route "+n.String(), again, remove))
}

// routeFor draws the route that a model's service names: mostly its own, else
// another's of the namespace.
func (p *planner) routeFor(i int) named {
	j := p.IntN(3)
	if p.chance(60) || p.route(j).in != p.model(i).in {
		return p.route(i)
	}
	return p.route(j)
}

func (p *planner) createService(i int) step {
	n, route := p.model(i), p.routeFor(i)
	return step{name: fmt.Sprintf("create service %s with route %s", n, route), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		_, err := c.create(ctx, builder.ModelServerOn(key.Namespace, key.Name, c.name(route.short)))
		return err
	}}
}

func (p *planner) changeService() step {
	i := p.IntN(3)
	n, route, ready := p.model(i), p.routeFor(i), p.chance(60)
	remove := step{name: "delete service " + n.String(), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		return c.delete(ctx, newService(key.Namespace, key.Name))
	}}
	edit := step{name: fmt.Sprintf("let service %s use route %s", n, route), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		wanted := builder.ModelServerOn(key.Namespace, key.Name, c.name(route.short))
		_, err := change(ctx, c, newService(key.Namespace, key.Name), func(s *unstructured.Unstructured) { s.Object["spec"] = wanted.Object["spec"] })
		return err
	}}
	health := step{name: fmt.Sprintf("make service %s ready: %t", n, ready), run: func(ctx context.Context, c *corner) error {
		key := c.key(n)
		_, err := change(ctx, c, newService(key.Namespace, key.Name), func(s *unstructured.Unstructured) {
			annotations := map[string]string{}
			if !ready {
				annotations[kserve.AnnotationNotReady] = "out of memory"
			}
			s.SetAnnotations(annotations)
		})
		return err
	}}
	return pick(p, p.createService(i), p.createService(i), edit, edit, edit, health, remove)
}

// changeTenant changes what makes a namespace and a model the tenant's.
func (p *planner) changeTenant() step {
	on := p.chance(60)
	label := step{name: fmt.Sprintf("label the tenant's namespace: %t", on), run: func(ctx context.Context, c *corner) error {
		namespace := &corev1.Namespace{}
		namespace.Name = c.namespace(inTenant)
		_, err := change(ctx, c, namespace, func(o *corev1.Namespace) {
			delete(o.Labels, v1alpha1.LabelTenant)
			delete(o.Labels, v1alpha1.LabelManagedByAITenant)
			if on {
				o.Labels[v1alpha1.LabelTenant] = c.tenant
			}
		})
		return err
	}}
	gateway := step{name: fmt.Sprintf("give the tenant a gateway: %t", on), run: func(ctx context.Context, c *corner) error {
		tenant := &v1alpha1.AITenant{}
		tenant.Namespace, tenant.Name = stage.AITenantNamespace, c.tenant
		return c.stamp(ctx, tenant, on)
	}}
	config := step{name: fmt.Sprintf("let the tenant's config be managed: %t", on), run: func(ctx context.Context, c *corner) error {
		object := &v1alpha1.MaasTenantConfig{}
		object.Namespace, object.Name = c.namespace(inTenant), v1alpha1.DefaultTenantConfigName
		_, err := change(ctx, c, object, func(o *v1alpha1.MaasTenantConfig) { o.Labels[v1alpha1.LabelManagedByAITenant] = fmt.Sprint(on) })
		return err
	}}
	return pick(p, label, gateway, config)
}
