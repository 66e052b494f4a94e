// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

const userLabel = "chaos.example.com/user"

func gateway(name string) *gwapiv1.Gateway {
	return builder.Gateway(builder.Key(stage.GatewayNamespace, name), name+".example.com")
}

func (p *planner) createGateway(name string) step {
	return step{name: "create Gateway " + name, run: func(ctx context.Context, c *course) error { return c.ensure(ctx, gateway(name)) }}
}

func (p *planner) deleteGateway(name string) step {
	return step{name: "delete Gateway " + name, run: func(ctx context.Context, c *course) error { return c.remove(ctx, gateway(name)) }}
}

func (p *planner) prepareNamespace(tenant string) step {
	return step{name: "make the namespace of " + tenant, run: func(ctx context.Context, c *course) error {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: homeOf(tenant), Labels: map[string]string{userLabel: "kept"}}}
		if err := c.Admin.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create namespace %s: %w", namespace.Name, err)
		}
		c.prepared[tenant] = true
		_, err := change(ctx, c.cluster, namespace, func(o *corev1.Namespace) {
			if o.Labels == nil {
				o.Labels = map[string]string{}
			}
			o.Labels[userLabel] = "kept"
		})
		return err
	}}
}

// wantedGateway draws the name of the Gateway that a tenant asks for; "" is its own.
func (p *planner) wantedGateway() string {
	if p.chance(60) {
		return ""
	}
	return pick(p, p.gateways...)
}

func withGateway(t *v1alpha1.AITenant, gateway string) *v1alpha1.AITenant {
	if t.Spec.Gateway = nil; gateway != "" {
		t.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: gateway}
	}
	return t
}

func (p *planner) createTenant(name string) step {
	wanted := p.wantedGateway()
	if name == theDefault && wanted == "" {
		wanted = stage.GatewayName
	}
	return step{name: fmt.Sprintf("create AITenant %s at Gateway %q", name, wanted), run: func(ctx context.Context, c *course) error {
		err := c.Admin.Create(ctx, withGateway(aiTenant(name), wanted))
		if apierrors.IsAlreadyExists(err) {
			return nil // Even if it is about to go.
		}
		c.wanted[name] = true
		return err
	}}
}

// forget deletes an AITenant. The default one comes back unless it has worked.
func (c *course) forget(ctx context.Context, name string) (bool, error) {
	if name == theDefault {
		config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
		if there, err := c.there(ctx, config); err != nil || !there || config.Annotations[v1alpha1.AnnotationDefaultAITenantBootstrapped] != "true" {
			return false, err
		}
	}
	delete(c.wanted, name)
	return true, c.remove(ctx, aiTenant(name))
}

func (p *planner) deleteTenant(name string) step {
	return step{name: "delete AITenant " + name, run: func(ctx context.Context, c *course) error {
		_, err := c.forget(ctx, name)
		return err
	}}
}

// recreateTenant deletes one and makes it again as soon as its name is free, unless
// that takes too long.
func (p *planner) recreateTenant(name string) step {
	const longest, poll = 6 * time.Second, 20 * time.Millisecond
	again := p.createTenant(name)
	return step{name: "delete AITenant " + name + ", and when it is gone " + again.name, run: func(ctx context.Context, c *course) error {
		if done, err := c.forget(ctx, name); err != nil || !done {
			return err
		}
		for end := time.Now().Add(longest); time.Now().Before(end); {
			err := c.Admin.Get(ctx, client.ObjectKeyFromObject(aiTenant(name)), &v1alpha1.AITenant{})
			if apierrors.IsNotFound(err) {
				return again.run(ctx, c)
			}
			if err := pause(ctx, poll); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (p *planner) retarget() step {
	name, wanted := p.tenant(), pick(p, p.gateways...)
	return step{name: fmt.Sprintf("move AITenant %s to Gateway %s", name, wanted), run: func(ctx context.Context, c *course) error {
		_, err := change(ctx, c.cluster, aiTenant(name), func(t *v1alpha1.AITenant) { withGateway(t, wanted) })
		return err
	}}
}

func (p *planner) changeOIDC() step {
	name, issuer := p.tenant(), pick(p, "", "https://one.issuer.example.com", "https://two.issuer.example.com/realms/x")
	return step{name: fmt.Sprintf("let AITenant %s have the provider %q", name, issuer), run: func(ctx context.Context, c *course) error {
		_, err := change(ctx, c.cluster, aiTenant(name), func(t *v1alpha1.AITenant) {
			if t.Spec.OIDC = nil; issuer != "" {
				t.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: issuer, ClientID: "maas"}
			}
		})
		return err
	}}
}

func tenantConfig(tenant string) *v1alpha1.MaasTenantConfig {
	return &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: homeOf(tenant), Name: v1alpha1.DefaultTenantConfigName}}
}

func (p *planner) changeConfig() step {
	name, days, on, replicas := p.tenant(), int32(1+p.IntN(300)), p.chance(50), pick(p, "2", "3", "many", "")
	specs := map[string]func(*v1alpha1.MaasTenantConfigSpec){
		"apiKeys": func(s *v1alpha1.MaasTenantConfigSpec) {
			s.APIKeys = &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: &days}
		},
		"telemetry": func(s *v1alpha1.MaasTenantConfigSpec) { s.Telemetry = &v1alpha1.TenantTelemetryConfig{Enabled: &on} },
		"nothing":   func(s *v1alpha1.MaasTenantConfigSpec) { *s = v1alpha1.MaasTenantConfigSpec{} },
	}
	which := pick(p, "apiKeys", "apiKeys", "telemetry", "nothing", "replicas", "replicas")
	text := fmt.Sprintf("set %s of the MaasTenantConfig of %s (%d days, %t, %q replicas)", which, name, days, on, replicas)
	return step{name: text, run: func(ctx context.Context, c *course) error {
		o := tenantConfig(name)
		changed, err := change(ctx, c.cluster, o, func(o *v1alpha1.MaasTenantConfig) {
			if which == "replicas" {
				setAnnotation(o, v1alpha1.AnnotationMaasAPIReplicas, replicas)
			} else {
				specs[which](&o.Spec)
			}
		})
		if changed {
			c.edits[name] = edit{uid: o.UID, spec: o.Spec}
		}
		return err
	}}
}

func (p *planner) changeState() step {
	name, state := p.tenant(), pick(p, "Managed", "", "", "Unmanaged", "Removed", "Removed")
	return step{name: fmt.Sprintf("let %s be %q", name, state), run: func(ctx context.Context, c *course) error {
		_, err := change(ctx, c.cluster, tenantConfig(name), func(o *v1alpha1.MaasTenantConfig) { setAnnotation(o, v1alpha1.AnnotationManagementState, state) })
		return err
	}}
}

func (p *planner) deleteConfig() step {
	name := p.tenant()
	return step{name: "delete the MaasTenantConfig of " + name, run: func(ctx context.Context, c *course) error { return c.remove(ctx, tenantConfig(name)) }}
}

// deleteInstallation deletes the Config: the default tenant goes, and comes back with
// a new one.
func (p *planner) deleteInstallation() step {
	return step{name: "delete the Config", run: func(ctx context.Context, c *course) error {
		c.wanted[theDefault] = true
		// What it owns goes, whoever manages it.
		for r := range c.leftAlone {
			if r.kind == policyKind {
				delete(c.leftAlone, r)
			}
		}
		return c.remove(ctx, &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}})
	}}
}

func (p *planner) changeEgress() step {
	rules := []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(5432))}}}}
	specs := map[string]v1alpha1.ConfigSpec{
		"Disabled":   {MaasAPIEgressNetworkPolicy: v1alpha1.EgressNetworkPolicyDisabled},
		"default":    {},
		"its own":    {NetworkPolicyEgressRules: rules},
		"additional": {NetworkPolicyAdditionalEgressRules: rules},
	}
	which := pick(p, "Disabled", "Disabled", "default", "its own", "additional")
	return step{name: "let the egress policy be " + which, run: func(ctx context.Context, c *course) error {
		config := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName}}
		_, err := change(ctx, c.cluster, config, func(o *v1alpha1.Config) { o.Spec = specs[which] })
		return err
	}}
}

func (p *planner) changeSecret() step {
	if p.chance(50) {
		return step{name: "make the database's Secret", run: func(ctx context.Context, c *course) error { return c.ensure(ctx, databaseSecret()) }}
	}
	return step{name: "delete the database's Secret", run: func(ctx context.Context, c *course) error { return c.remove(ctx, databaseSecret()) }}
}
