// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// The issuer of the second tenant's tokens, and the client they are for.
const (
	issuerHost = "https://idp.example.com"
	issuerURL  = issuerHost + "/realms/red"
	clientID   = "maas-cli"
)

// tenant is a tenant with a Gateway of its own.
type tenant struct {
	name, namespace string
	gateway, host   string
	oidc            *v1alpha1.TenantExternalOIDCConfig
}

// The operator makes the first tenant by itself; its Gateway comes with the stage.
var (
	theDefault = tenant{name: v1alpha1.DefaultAITenantName, namespace: stage.TenantNamespace, gateway: stage.GatewayName, host: stage.Hostname}
	red        = tenant{
		name: "red", namespace: "ai-tenant-red", gateway: "red", host: "red.example.com",
		oidc: &v1alpha1.TenantExternalOIDCConfig{IssuerURL: issuerURL, ClientID: clientID},
	}
)

func tenants() []tenant { return []tenant{theDefault, red} }

func (t tenant) object() *v1alpha1.AITenant {
	return &v1alpha1.AITenant{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: t.name}, Spec: v1alpha1.AITenantSpec{OIDC: t.oidc},
	}
}

func (t tenant) gatewayKey() types.NamespacedName {
	return builder.Key(stage.GatewayNamespace, t.gateway)
}

// names are those of what runs for the tenant.
func (t tenant) names() tenancy.Context {
	if t.name == theDefault.name {
		return tenancy.Context{Name: t.name}
	}
	return tenancy.Context{Name: t.name, ID: t.name}
}

// unguarded is the name of the route behind its Gateway that has no policies.
func (t tenant) unguarded() string { return "unguarded-" + t.name }

// invite creates the tenants, and behind each Gateway a route of somebody else's, which
// only the defaults of the Gateway guard.
func (on *installation) invite(ctx context.Context) {
	GinkgoHelper()
	on.create(ctx, builder.Gateway(red.gatewayKey(), red.host), red.object())
	for _, t := range tenants() {
		on.create(ctx, builder.Route(stage.ModelNamespace, t.unguarded(), stage.GatewayNamespace, t.gateway).
			Unlabelled().Hostnames(t.host).Path("/elsewhere").Obj())
	}
	on.settled(ctx)
}

// furnish creates the models and everything that policies are made of.
func (on *installation) furnish(ctx context.Context) {
	GinkgoHelper()
	on.model(ctx, theDefault, granite)
	on.model(ctx, theDefault, free)
	on.model(ctx, red, mistral)
	on.create(ctx, subjects()...)
	on.create(ctx, subscriptions()...)
}

// settled waits until the tenants work.
func (on *installation) settled(ctx context.Context) {
	GinkgoHelper()
	for _, t := range tenants() {
		Eventually(on.ready(ctx, t)).Should(Equal("True Reconciled"), t.name)
	}
}

// The models: granite has groups of limits of every kind, free is never limited, and
// mistral belongs to the other tenant.
var (
	granite = builder.Key(stage.ModelNamespace, "granite")
	free    = builder.Key(stage.ModelNamespace, "free")
	mistral = builder.Key("llm-red", "mistral")
)

// model creates a model that is served at its name below the tenant's host.
func (on *installation) model(ctx context.Context, t tenant, key types.NamespacedName) {
	GinkgoHelper()
	on.namespace(ctx, key.Namespace)
	on.create(ctx,
		builder.Route(key.Namespace, key.Name, stage.GatewayNamespace, t.gateway).Hostnames(t.host).Path("/"+key.String()).Obj(),
		builder.ModelServer(key.Namespace, key.Name), builder.ModelRef(key.Namespace, key.Name).Tenant(t.name).Obj())
}

// subjects say who may use what.
func subjects() []client.Object {
	return []client.Object{
		builder.AuthPolicy(theDefault.namespace, "everybody", granite, free).Subjects([]string{"system:authenticated"}, nil).Obj(),
		builder.AuthPolicy(theDefault.namespace, "researchers", granite).Subjects([]string{"researchers"}, []string{"alice"}).Obj(),
		builder.AuthPolicy(red.namespace, "staff", mistral).Subjects([]string{"staff"}, []string{"bob"}).Obj(),
	}
}

// subscriptions say how much: one window, several, none, and two of the same rates.
func subscriptions() []client.Object {
	const minute, day = "1m", "24h"
	rates := []v1alpha1.TokenRateLimit{{Limit: 1000, Window: minute}, {Limit: 100000, Window: day}}
	metadata := v1alpha1.TokenMetadata{OrganizationID: "org-1", CostCenter: "cc-1", Labels: map[string]string{"team": "research"}}
	return []client.Object{
		builder.Subscription(theDefault.namespace, "basic").Owners([]string{"system:authenticated"}, nil).Limit(granite, 100, minute).Unlimited(free).Obj(),
		builder.Subscription(theDefault.namespace, "research").Owners([]string{"researchers"}, []string{"alice"}).Rates(granite, rates...).
			Metadata(metadata).Price("0.002").Priority(5).Obj(),
		builder.Subscription(theDefault.namespace, "research-too").Owners([]string{"engineers"}, nil).Rates(granite, rates...).Obj(),
		builder.Subscription(theDefault.namespace, "trusted").Owners(nil, []string{"root"}).Unlimited(granite).Obj(),
		builder.Subscription(red.namespace, "basic").Owners([]string{"staff"}, nil).Limit(mistral, 200, "1h").Obj(),
	}
}

// ready is "<status> <reason>" of the tenant's condition Ready.
func (on *installation) ready(ctx context.Context, t tenant) func() (string, error) {
	return func() (string, error) {
		object := t.object()
		if err := on.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return "", client.IgnoreNotFound(err)
		}
		c := meta.FindStatusCondition(object.Status.Conditions, string(v1alpha1.ConditionReady))
		if c == nil || c.ObservedGeneration != object.Generation {
			return "not judged yet", nil
		}
		return string(c.Status) + " " + c.Reason, nil
	}
}

// phase is that of a subscription.
func (on *installation) phase(ctx context.Context, of client.Object) func() (string, error) {
	return func() (string, error) {
		live := &v1alpha1.MaaSSubscription{}
		err := on.Admin.Get(ctx, client.ObjectKeyFromObject(of), live)
		return string(live.Status.Phase), err
	}
}
