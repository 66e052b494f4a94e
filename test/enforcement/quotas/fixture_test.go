// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// staff may use every model and owns every subscription, unless something else is
	// said.
	staff = "staff"
	// perToken is what the simulator takes for a token of its reply.
	perToken = 20 * time.Millisecond

	headerSubscription = "X-MaaS-Subscription"
)

// Subscriptions, each with the models and limits of [fixture.subscriptions].
const (
	small, large = "small", "large"
	windows      = "windows"
	twice        = "twice"
	unlimited    = "unlimited"
	roomy        = "roomy"
	lasting      = "lasting"
)

// fixture is what most specs use. What a spec changes is its own.
type fixture struct {
	tenant *world.Tenant
	// chat and code are answered by the simulator, odd by whatever a spec says.
	chat, code, odd world.Model
	// kept is for what the gateway remembers by default.
	kept world.Model
	// alice and bob are staff.
	alice, bob caller
	// revoked tells how long revoked keys were good.
	revoked *watch
}

// caller is somebody who asks.
type caller struct {
	name    string
	headers []world.Header
}

// by is the caller who pays by a subscription.
func (c caller) by(subscription string) caller {
	c.headers = slices.Concat(c.headers, world.Headers(headerSubscription, subscription))
	return c
}

// token is the credential of a caller.
func (c caller) token() string { return strings.TrimPrefix(c.headers[0].Value, "Bearer ") }

// user is a caller with a new token.
func (f *fixture) user(ctx context.Context, name string, groups ...string) (caller, error) {
	token, err := f.tenant.Token(ctx, f.tenant.Claims(name, groups...))
	return caller{name: name, headers: world.Bearer(token)}, err
}

// key makes the caller an API key, and returns him as who calls with it.
func (f *fixture) key(ctx context.Context, owner caller, key service.CreateKey) (caller, service.CreatedKey, error) {
	created, err := f.tenant.NewKey(ctx, owner.token(), key)
	return caller{name: owner.name, headers: world.Bearer(created.Key)}, created, err
}

// prepare makes everything, and returns when it is served.
func (f *fixture) prepare(ctx context.Context) (err error) {
	if f.alice, err = f.user(ctx, "alice", staff); err != nil {
		return err
	}
	if f.bob, err = f.user(ctx, "bob", staff); err != nil {
		return err
	}
	f.chat, f.code = f.tenant.Model("chat").Simulated(), f.tenant.Model("code").Simulated()
	f.odd, f.kept = f.tenant.Model("odd"), f.tenant.Model("kept")
	if err := f.publish(ctx, f.subscriptions(), f.chat, f.code, f.odd, f.kept); err != nil {
		return err
	}
	f.watchRevoked(ctx)
	return nil
}

// subscriptions are those of the fixture. A question of one word costs a caller 7
// tokens.
func (f *fixture) subscriptions() []*v1alpha1.MaaSSubscription {
	chat := f.chat.Key()
	return []*v1alpha1.MaaSSubscription{
		f.subscription(small).Limit(chat, 20, "1h").Limit(f.code.Key(), 20, "1h").Obj(),
		f.subscription(large).Limit(chat, 40, "1h").Obj(),
		f.subscription(windows).Rates(chat, rate(50, "1h"), rate(20, "1m")).Obj(),
		f.subscription(twice).Rates(chat, rate(100, "1m"), rate(20, "60s")).Obj(),
		f.subscription(unlimited).Unlimited(chat).Obj(),
		f.subscription(roomy).Limit(chat, 1_000_000, "1h").Limit(f.odd.Key(), 1_000_000, "1h").Obj(),
		f.subscription(lasting).Limit(f.kept.Key(), 1_000_000, "1h").Obj(),
	}
}

func rate(limit int64, window string) v1alpha1.TokenRateLimit {
	return v1alpha1.TokenRateLimit{Limit: limit, Window: window}
}

// subscription is one of staff, without models yet.
func (f *fixture) subscription(name string) *builder.SubscriptionBuilder {
	return builder.Subscription(f.tenant.Namespace, name).Owners([]string{staff}, nil)
}

// publish makes models that staff may use, with subscriptions, and returns when each
// subscription is served at each of its models.
func (f *fixture) publish(ctx context.Context, subscriptions []*v1alpha1.MaaSSubscription, models ...world.Model) error {
	var objects []client.Object
	for _, m := range models {
		objects = append(objects, m.Objects()...)
		objects = append(objects, builder.AuthPolicy(f.tenant.Namespace, "use-"+m.Name, m.Key()).Subjects([]string{staff}, nil).Obj())
	}
	if err := on.Create(ctx, objects...); err != nil {
		return err
	}
	return f.subscribe(ctx, subscriptions...)
}

// subscribe makes subscriptions, and returns when each is served at each of its models.
func (f *fixture) subscribe(ctx context.Context, subscriptions ...*v1alpha1.MaaSSubscription) error {
	for _, s := range subscriptions {
		if err := on.Create(ctx, s); err != nil {
			return err
		}
	}
	return f.await(ctx, subscriptions...)
}

func (f *fixture) await(ctx context.Context, subscriptions ...*v1alpha1.MaaSSubscription) error {
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(4)
	for _, s := range subscriptions {
		if err := on.AwaitSubscription(ctx, client.ObjectKeyFromObject(s), v1alpha1.PhaseActive); err != nil {
			return err
		}
		for _, ref := range s.Spec.ModelRefs {
			m := f.tenant.Model(ref.Name)
			if err := on.AwaitEnforced(ctx, kuadrant.AuthPolicy, m.Policies()[kuadrant.AuthPolicy]); err != nil {
				return err
			}
			work.Go(func() error { return f.awaitSelected(within, s.Name, m) })
		}
	}
	return work.Wait()
}

// awaitSelected waits until staff is served by a subscription at a model. It asks
// maas-api first, for the gateway would remember a refusal.
func (f *fixture) awaitSelected(ctx context.Context, subscription string, m world.Model) error {
	direct, err := f.tenant.Direct(ctx)
	if err != nil {
		return err
	}
	err = world.Eventually(ctx, subscription+" at "+m.Name, func(ctx context.Context) error {
		chosen, err := direct.Select(ctx, service.SelectRequest{Username: f.alice.name, Groups: []string{staff}, Subscription: subscription, Model: m.Key().String()})
		if err == nil && (chosen.Error != "" || !chosen.AccessAllowed) {
			err = fmt.Errorf("%+v", chosen)
		}
		return err
	})
	if err != nil {
		return err
	}
	return on.AwaitServed(ctx, f.at(m, f.alice.by(subscription)).list())
}

// asking is somebody at a model.
type asking struct {
	caller
	tenant *world.Tenant
	model  world.Model
}

func (f *fixture) at(m world.Model, c caller) asking {
	return asking{caller: c, tenant: f.tenant, model: m}
}

// list asks for the model's own list of models.
func (a asking) list() world.Request {
	return world.Request{Tenant: a.tenant, Path: a.model.Path() + "/v1/models", Headers: a.headers}
}

// chat asks a question of so many words, which is answered by itself.
func (a asking) chat(words int) world.Request {
	return a.post("/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, world.SimulatorModel, text(words)))
}

// stream asks the same for an answer in pieces.
func (a asking) stream(words int, options string) world.Request {
	return a.post("/v1/chat/completions", fmt.Sprintf(`{"model":%q,"stream":true%s,"messages":[{"role":"user","content":%q}]}`, world.SimulatorModel, options, text(words)))
}

// withUsage asks a stream to tell what it cost.
const withUsage = `,"stream_options":{"include_usage":true}`

func (a asking) post(path, body string) world.Request {
	return world.Request{Tenant: a.tenant, Path: a.model.Path() + path, Headers: a.headers, Body: body}
}

func text(words int) string { return strings.TrimSuffix(strings.Repeat("word ", words), " ") }

// cost is what a question of so many words costs at the simulator.
func cost(words int) uint64 { return uint64(5 + 2*words) }
