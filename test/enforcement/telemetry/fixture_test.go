// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// staff and the account of team may use the model and own both subscriptions.
	staff        = "staff"
	team, agent  = "team", "agent"
	account      = "system:serviceaccount:" + team + ":" + agent
	accounts     = "system:serviceaccounts:" + team
	subscription = "X-MaaS-Subscription"
	// billed has a cost centre and an organization, plain has neither.
	billed, plain = "billed", "plain"
)

var telemetryPolicies = schema.GroupVersionKind{Group: "extensions.kuadrant.io", Version: "v1alpha1", Kind: "TelemetryPolicy"}

// fixture is a model of each tenant. The default tenant's telemetry has every label, that
// of the other one is as it is when nothing is said.
type fixture struct {
	// callers are those of the default tenant by kind and subscription.
	callers map[string]caller
	// red is a caller of the other tenant.
	red caller
}

// caller is somebody with credentials.
type caller struct {
	tenant  *world.Tenant
	headers []world.Header
	// labels are what is to be reported.
	labels map[string]string
}

// chat asks the model of the caller's tenant.
func (c caller) chat() world.Request {
	return world.Request{
		Tenant: c.tenant, Path: model(c.tenant).Path() + "/v1/chat/completions", Headers: c.headers,
		Body: `{"model":"granite","messages":[{"role":"user","content":"ping"}]}`,
	}
}

func model(t *world.Tenant) world.Model { return t.Model("granite-of-" + t.Name) }

// by has the caller name a subscription.
func (c caller) by(name string) caller {
	c.headers = slices.Concat(c.headers, world.Headers(subscription, name))
	return c
}

// says adds labels.
func (c caller) says(labels map[string]string) caller {
	all := maps.Clone(labels)
	maps.Copy(all, c.labels)
	c.labels = all
	return c
}

func (f *fixture) prepare(ctx context.Context) error {
	if err := setTelemetry(ctx, on.Default, &v1alpha1.TenantTelemetryConfig{
		Metrics: &v1alpha1.TelemetryMetricsConfig{CaptureUser: new(true), CaptureGroup: new(true)},
	}); err != nil {
		return err
	}
	for _, t := range on.Tenants() {
		if err := f.publish(ctx, t); err != nil {
			return err
		}
	}
	if err := f.identify(ctx); err != nil {
		return err
	}
	for _, c := range append(slices.Collect(maps.Values(f.callers)), f.red) {
		if err := on.AwaitServed(ctx, c.chat()); err != nil {
			return err
		}
	}
	for _, c := range []caller{f.callers["a token of the provider, "+billed], f.red} {
		if err := on.AwaitAnswer(ctx, c.chat(), c.labelled); err != nil {
			return fmt.Errorf("wait for the labels of tenant %s: %w", c.tenant.Name, err)
		}
	}
	return nil
}

// labelled tells whether the gateway names all labels that are to be reported, whatever it
// says in them. Kuadrant calls a policy enforced before the gateway has its labels.
func (c caller) labelled(answer world.Answer) bool {
	reports := reported(answer.Decision)
	return len(reports) > 0 && !slices.ContainsFunc(reports, func(labels map[string]string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(c.labels)), func(name string) bool {
			_, named := labels[name]
			return !named
		})
	})
}

// publish makes a tenant's model and its subscriptions.
func (f *fixture) publish(ctx context.Context, t *world.Tenant) error {
	m := model(t)
	groups, users := []string{staff}, []string{account}
	sold := func(name string) *builder.SubscriptionBuilder {
		return builder.Subscription(t.Namespace, name).Owners(groups, users).Limit(m.Key(), 1_000_000, "1h")
	}
	objects := append(m.Objects(),
		builder.AuthPolicy(t.Namespace, "use", m.Key()).Subjects(groups, users).Obj(),
		sold(billed).Metadata(v1alpha1.TokenMetadata{CostCenter: "cc-7", OrganizationID: "org-9"}).Obj(), sold(plain).Obj(),
	)
	if err := on.Create(ctx, objects...); err != nil {
		return err
	}
	for _, name := range []string{billed, plain} {
		if err := on.AwaitSubscription(ctx, builder.Key(t.Namespace, name), v1alpha1.PhaseActive); err != nil {
			return err
		}
	}
	for kind, key := range m.Policies() {
		if err := on.AwaitEnforced(ctx, kind, key); err != nil {
			return err
		}
	}
	return nil
}

// identify gets credentials of each kind, and says what is to be known of their owners.
func (f *fixture) identify(ctx context.Context) error {
	t := on.Default
	token, err := t.Token(ctx, t.Claims("alice", staff))
	if err != nil {
		return err
	}
	opaque, err := on.ClusterToken(ctx, team, agent)
	if err != nil {
		return err
	}
	alice := map[string]string{"user": "alice", "group": "system:authenticated," + staff}
	machine := map[string]string{"user": account, "group": "system:authenticated,system:serviceaccounts," + accounts}
	jwt := caller{tenant: t, headers: world.Bearer(token), labels: alice}
	review := caller{tenant: t, headers: world.Bearer(opaque), labels: machine}
	f.callers = map[string]caller{}
	for name, more := range sales(t) {
		f.callers["a token of the provider, "+name] = jwt.by(name).says(more)
		f.callers["a token of the cluster, "+name] = review.by(name).says(more)
		for owner, bearer := range map[string]caller{"somebody": jwt, "a machine": review} {
			key, err := f.key(ctx, bearer, name)
			if err != nil {
				return err
			}
			f.callers["a key of "+owner+", "+name] = caller{tenant: t, headers: world.Bearer(key), labels: bearer.labels}.says(more)
		}
	}
	red, err := on.Red.Token(ctx, on.Red.Claims("alice", staff))
	f.red = caller{tenant: on.Red, headers: world.Bearer(red)}.by(plain).says(sales(on.Red)[plain])
	return err
}

// key makes an API key for a subscription.
func (f *fixture) key(ctx context.Context, owner caller, subscription string) (string, error) {
	token := owner.headers[0].Value[len("Bearer "):]
	created, err := owner.tenant.NewKey(ctx, token, service.CreateKey{Name: "for-" + subscription, Subscription: subscription})
	if err != nil {
		return "", fmt.Errorf("make a key for %s: %w", subscription, err)
	}
	return created.Key, nil
}

// sales are what is to be known of each subscription.
func sales(t *world.Tenant) map[string]map[string]string {
	key := model(t).Key().String()
	return map[string]map[string]string{
		billed: {"subscription": billed, "model": key, "cost_center": "cc-7", "organization_id": "org-9"},
		plain:  {"subscription": plain, "model": key, "cost_center": "", "organization_id": ""},
	}
}

// setTelemetry changes a tenant's telemetry.
func setTelemetry(ctx context.Context, t *world.Tenant, spec *v1alpha1.TenantTelemetryConfig) error {
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: v1alpha1.DefaultTenantConfigName}}
	return world.Change(ctx, on, config, func(c *v1alpha1.MaasTenantConfig) { c.Spec.Telemetry = spec })
}

// policyOf is the TelemetryPolicy of a tenant; nil when there is none.
func policyOf(ctx context.Context, t *world.Tenant) (*unstructured.Unstructured, error) {
	policy := kuadrant.New(telemetryPolicies)
	err := on.Admin.Get(ctx, types.NamespacedName{Namespace: t.Gateway.Namespace, Name: t.Names.TelemetryPolicy()}, policy)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // Documented: there is none.
	}
	return policy, nil
}

// reported are the labels in what the limiter was asked, once for each question.
func reported(d *world.Decision) []map[string]string {
	var labels []map[string]string
	if d == nil {
		return nil
	}
	for _, step := range d.Steps {
		if len(step.Descriptors) > 0 {
			labels = append(labels, step.Descriptors[len(step.Descriptors)-1])
		}
	}
	return labels
}
