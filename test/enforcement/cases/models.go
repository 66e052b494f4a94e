// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// Who may use what. Everybody of the cluster's namespace "team" counts as staff.
const (
	staff       = "staff"
	guests      = "guests"
	team        = "system:serviceaccounts:team"
	everybody   = "system:authenticated"
	maySpend    = 1_000_000
	window      = "1m"
	holdingName = "enforcement.test/hold"
)

// Subscriptions of a tenant, all in its namespace.
const (
	// gold is staff's, for granite and for what no auth policy opens.
	gold = "gold"
	// silver and bronze are staff's, both for the model several.
	silver = "silver"
	bronze = "bronze"
	// everyone is everybody's, for the model open.
	everyone = "everyone"
	// uninvited is the guests', for granite, which no auth policy opens to them.
	uninvited = "uninvited"
	// strange is of somebody else, for the model several.
	strange = "strange"
	// tarnished is staff's, and its limits are not enforced.
	tarnished = "tarnished"
	// leaving is staff's, and being deleted.
	leaving = "leaving"
	// guestly is the guests', for the models that are theirs.
	guestly = "guestly"
	// wordy is staff's, for the model of the messages format.
	wordy = "wordy"
)

// Models are those of a tenant.
type Models struct {
	// Granite is for staff.
	Granite world.Model
	// Open is for everybody who is known at all.
	Open world.Model
	// Several is for staff, with two subscriptions to choose from.
	Several world.Model
	// Unpaid is open to staff, and no subscription includes it.
	Unpaid world.Model
	// Closed is in a subscription, and no auth policy opens it.
	Closed world.Model
	// Bare is governed by nothing.
	Bare world.Model
	// Stray is a route that belongs to no model at all.
	Stray world.Model
	// Contested has limits that somebody else's policy keeps from being enforced.
	Contested world.Model
	// Leaving has one subscription, which is being deleted.
	Leaving world.Model
	// Messages speaks the messages format; only the default tenant has one.
	Messages world.Model
	// Longer, Below and Abroad are for guests, and their paths look like granite's, which
	// was there before: the name goes on, the path goes on, the namespace goes on.
	Longer, Below, Abroad world.Model
	// Late is for staff, and Early, for guests, was there before: its name goes on where
	// late's ends.
	Late, Early world.Model
}

func modelsOf(t *world.Tenant) Models {
	of := func(name string) world.Model { return t.Model(name + "-of-" + t.Gateway.Name) }
	below, abroad := of("below"), of("granite")
	below.At, abroad.Namespace = of("granite").Path()+"/v2", world.OtherNamespace
	return Models{
		Longer: t.Model(of("granite").Name + "2"), Below: below, Abroad: abroad, Late: of("late"), Early: t.Model(of("late").Name + "-early"),
		Granite: of("granite"), Open: of("open"), Several: of("several"), Unpaid: of("unpaid"), Closed: of("closed"), Bare: of("bare"),
		Stray: of("stray"), Contested: of("contested"), Leaving: of("leaving"), Messages: of("messages"),
	}
}

// create makes the tenant's models and what governs them.
func (s *Side) create(ctx context.Context) error {
	m, w := s.Models, s.world
	for _, model := range []world.Model{
		m.Granite, m.Early, m.Open, m.Several, m.Unpaid, m.Closed, m.Bare, m.Contested, m.Leaving, m.Longer, m.Below, m.Abroad, m.Late,
	} {
		if err := w.Create(ctx, model.Objects()...); err != nil {
			return err
		}
	}
	stray := m.Stray.Route()
	stray.Labels = nil
	if err := w.Create(ctx, stray); err != nil {
		return err
	}
	if err := s.createMessages(ctx); err != nil {
		return err
	}
	if err := w.Create(ctx, s.authPolicies()...); err != nil {
		return err
	}
	return w.Create(ctx, s.subscriptions()...)
}

// authPolicies open models.
func (s *Side) authPolicies() []client.Object {
	m, namespace := s.Models, s.Tenant.Namespace
	opened := []types.NamespacedName{m.Granite.Key(), m.Several.Key(), m.Unpaid.Key(), m.Contested.Key(), m.Leaving.Key(), m.Late.Key()}
	if s.messages() {
		opened = append(opened, m.Messages.Key())
	}
	return []client.Object{
		builder.AuthPolicy(namespace, "staff", opened...).Subjects([]string{staff, team}, nil).Obj(),
		builder.AuthPolicy(namespace, "guests", m.Longer.Key(), m.Below.Key(), m.Abroad.Key(), m.Early.Key()).Subjects([]string{guests}, nil).Obj(),
		builder.AuthPolicy(namespace, "everybody", m.Open.Key()).Subjects([]string{everybody}, nil).Obj(),
	}
}

// subscriptions pay for models.
func (s *Side) subscriptions() []client.Object {
	m := s.Models
	of := func(name string, owners []string, models ...world.Model) *builder.SubscriptionBuilder {
		b := builder.Subscription(s.Tenant.Namespace, name).Owners(owners, nil)
		for _, model := range models {
			b.Limit(model.Key(), maySpend, window)
		}
		return b
	}
	members := []string{staff, team}
	held := of(leaving, members, m.Leaving).Obj()
	held.Finalizers = []string{holdingName}
	objects := []client.Object{
		of(gold, members, m.Granite, m.Closed, m.Late).Metadata(v1alpha1.TokenMetadata{
			OrganizationID: "research", CostCenter: "4711", Labels: map[string]string{"tier": "high"},
		}).Obj(),
		of(silver, members, m.Several).Obj(), of(bronze, members, m.Several).Obj(), of(strange, []string{"strangers"}, m.Several).Obj(),
		of(uninvited, []string{guests}, m.Granite).Obj(), of(guestly, []string{guests}, m.Longer, m.Below, m.Abroad, m.Early).Obj(),
		of(everyone, []string{everybody}, m.Open).Obj(), of(tarnished, members, m.Contested).Obj(), held,
	}
	if s.messages() {
		objects = append(objects, of(wordy, members, m.Messages).Obj())
	}
	return objects
}

// squatter is somebody else's policy on a model's route, newer than ours: Kuadrant
// enforces the newer one.
func squatter(m world.Model) client.Object {
	o := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	o.SetNamespace(stage.ModelNamespace)
	o.SetName("squatter-on-" + m.Name)
	o.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": m.Name},
		"limits":    map[string]any{"any": map[string]any{"rates": []any{map[string]any{"limit": int64(maySpend), "window": window}}}},
	}
	return o
}

// ByHand leaves the operator's controller of ExternalModels out of a world: the route of
// the model of the messages format is made by hand in these cases. What the controller
// makes is looked at in package providers.
const ByHand = "--controllers=*,-externalmodel"

// messages tells whether the tenant has a model of the messages format.
func (s *Side) messages() bool { return s.Tenant == s.world.Default }

// createMessages makes the model of the messages format, which a provider outside
// serves, with the route that others would make for it.
func (s *Side) createMessages(ctx context.Context) error {
	if !s.messages() {
		return nil
	}
	m := s.Models.Messages
	route := m.Route()
	route.Labels = nil
	external := builder.InferenceExternalModel(stage.ModelNamespace, m.Name)
	external.Spec.ExternalProviderRefs[0].APIFormat = "messages"
	external.Spec.ExternalProviderRefs[0].Path = "/v1/messages"
	if err := s.world.Create(ctx, route, external); err != nil {
		return err
	}
	external.Status.HTTPRouteName = m.Name
	if err := s.world.Admin.Status().Update(ctx, external); err != nil {
		return fmt.Errorf("give ExternalModel %s its route: %w", m.Name, err)
	}
	return s.world.Create(ctx, builder.ModelRef(stage.ModelNamespace, m.Name).Tenant(s.Tenant.Name).
		Backend(v1alpha1.BackendExternalModel, m.Name).Obj())
}

// await waits until the models are served as far as they are going to be.
func (s *Side) await(ctx context.Context) error {
	names := []string{gold, silver, bronze, strange, uninvited, guestly, everyone, tarnished, leaving}
	if s.messages() {
		names = append(names, wordy)
	}
	for _, name := range names {
		if err := s.world.AwaitSubscription(ctx, builder.Key(s.Tenant.Namespace, name), v1alpha1.PhaseActive); err != nil {
			return err
		}
	}
	for _, m := range s.Guarded() {
		for kind, key := range m.Policies() {
			if kind == kuadrant.TokenRateLimitPolicy && m == s.Models.Unpaid {
				continue
			}
			if err := s.world.AwaitEnforced(ctx, kind, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// Guarded are the models that have an AuthPolicy of their own.
func (s *Side) Guarded() []world.Model {
	m := s.Models
	all := []world.Model{m.Granite, m.Open, m.Several, m.Unpaid, m.Contested, m.Leaving, m.Longer, m.Below, m.Abroad, m.Late, m.Early}
	if s.messages() {
		all = append(all, m.Messages)
	}
	return all
}

// release lets what the cases hold back be deleted.
func (s *Side) release(ctx context.Context) error {
	held := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.Tenant.Namespace, Name: leaving}}
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	return client.IgnoreNotFound(s.world.Admin.Patch(ctx, held, client.RawPatch(types.MergePatchType, patch)))
}
