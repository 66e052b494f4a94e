// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/internal/installation"
	"github.com/opendatahub-io/maas-operator/test/internal/process"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/workload"
)

// Tenant is one of the world's tenants.
type Tenant struct {
	// Name is that of the AITenant.
	Name string
	// Gateway is the tenant's Gateway, Host that of its listener.
	Gateway types.NamespacedName
	Host    string
	// Namespace is where the tenant's auth policies and subscriptions live.
	Namespace string
	// Names are those of what runs for the tenant.
	Names tenancy.Context
	// OIDC is the tenant's provider, ClientID the client of the tenant there.
	OIDC     *engines.OIDC
	ClientID string

	world *World
	// address is where the gateway listens, admin where it tells what it decided.
	address, admin string
	process        *process.Process
}

// The names of the tenants.
const (
	defaultName = stage.TenantNamespace
	redName     = "red"
)

func newTenants(w *World) (usual, red *Tenant) {
	usual = &Tenant{
		Name: defaultName, Gateway: builder.Key(stage.GatewayNamespace, stage.GatewayName), Host: stage.Hostname,
		Namespace: stage.TenantNamespace, Names: tenancy.Context{Name: defaultName}, ClientID: "maas", world: w,
	}
	red = &Tenant{
		Name: redName, Gateway: builder.Key(stage.GatewayNamespace, redName), Host: "red.example.com",
		Namespace: "ai-tenant-" + redName, Names: tenancy.Context{Name: redName, ID: redName}, ClientID: "maas-of-red", world: w,
	}
	return usual, red
}

// Other is the tenant beside this one.
func (t *Tenant) Other() *Tenant {
	if t == t.world.Default {
		return t.world.Red
	}
	return t.world.Default
}

// String is the tenant's name.
func (t *Tenant) String() string { return t.Name }

// object is the tenant's AITenant without its settings.
func (t *Tenant) object() *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: t.Name}}
}

// settings are those of the tenant's provider.
func (t *Tenant) settings() *v1alpha1.TenantExternalOIDCConfig {
	return &v1alpha1.TenantExternalOIDCConfig{IssuerURL: t.OIDC.Issuer(), ClientID: t.ClientID}
}

// issuerHost is the name of the tenant's provider; nobody but the engines' proxy
// knows it.
func (t *Tenant) issuerHost() string { return "idp." + t.Host }

// request asks for the tenant; there is a default one without asking, which gets only
// its provider.
func (t *Tenant) request(ctx context.Context) error {
	o := t.object()
	if t != t.world.Default {
		if err := t.world.Create(ctx, builder.Gateway(t.Gateway, t.Host)); err != nil {
			return err
		}
		o.Spec.OIDC = t.settings()
		return Eventually(ctx, "the namespace of tenants", func(ctx context.Context) error { return t.world.Create(ctx, o) })
	}
	return Eventually(ctx, "the default tenant", func(ctx context.Context) error {
		if err := t.world.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.Spec.OIDC = t.settings()
		return t.world.Admin.Update(ctx, o)
	})
}

// await waits until everything of the tenant works.
func (t *Tenant) await(ctx context.Context) error {
	return Eventually(ctx, "tenant "+t.Name, func(ctx context.Context) error {
		o := t.object()
		if err := t.world.Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(o.Status.Conditions, string(v1alpha1.ConditionReady))
		if ready == nil || ready.ObservedGeneration != o.Generation || ready.Status != metav1.ConditionTrue || o.Status.Phase != "Active" {
			return fmt.Errorf("%s: %+v", o.Status.Phase, ready)
		}
		return nil
	})
}

// MaaSAPIPolicy is the AuthPolicy of the route to the tenant's maas-api.
func (t *Tenant) MaaSAPIPolicy() types.NamespacedName {
	return builder.Key(installation.Namespace, t.Names.MaaSAPIAuthPolicy())
}

// GatewayPolicy is the AuthPolicy of the tenant's Gateway itself.
func (t *Tenant) GatewayPolicy() types.NamespacedName {
	return builder.Key(t.Gateway.Namespace, t.Names.GatewayDefaultAuth())
}

// GatewayLimits is the TokenRateLimitPolicy of the tenant's Gateway itself.
func (t *Tenant) GatewayLimits() types.NamespacedName {
	return builder.Key(t.Gateway.Namespace, t.Names.GatewayDefaultDeny())
}

// service is the tenant's maas-api.
func (t *Tenant) service() workload.ServicePort {
	return workload.ServicePort{Namespace: installation.Namespace, Name: t.Names.MaaSAPI(), Port: installation.MaaSAPIPort}
}

// name is what callers in a cluster call the tenant's maas-api.
func (t *Tenant) name() string {
	s := t.service()
	return fmt.Sprintf("%s.%s.svc.cluster.local:%d", s.Name, s.Namespace, s.Port)
}

// Direct is a client of the tenant's maas-api that goes past the gateway.
func (t *Tenant) Direct(ctx context.Context) (service.Client, error) {
	address, err := t.world.Stage.Workload.Service(ctx, t.service())
	if err != nil {
		return service.Client{}, err
	}
	return service.NewClient("https://"+address, t.world.transport("")), nil
}

// Visitor is a client of the tenant's gateway that is nobody. What reaches an upstream
// of it, and what the gateway decided, is not kept: see [World.Do].
func (t *Tenant) Visitor() service.Client {
	return service.NewClient("https://"+t.Host, t.world.transport(t.address))
}
