// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	staff        = "staff"
	subscription = "measured"

	// keysPerSecond are more than can be asked about in a second by anybody who asks
	// about each of them once.
	keysPerSecond = 1500

	// headerOfModel is what the model's policy sets for the model, headerOfAlone what the
	// one without callbacks does.
	headerOfModel = "x-maas-subscription"
	headerOfAlone = "x-alone"
)

// prepared is what is measured.
type prepared struct {
	*world.World
	// model has a generated policy, alone has one that asks nobody.
	model, alone measured
	ring         keyring.Ring
	// next is the first key that was not used yet, stored how many there are.
	next, stored int
}

// measured is a model with the scope in which the gateway asks about it.
type measured struct {
	world.Model
	scope string
}

func prepare(ctx context.Context, w *world.World) (*prepared, error) {
	t := w.Default
	p := &prepared{
		World: w, model: measured{Model: t.Model("measured")}, alone: measured{Model: t.Model("alone")},
		// Every key has its own owner, so that no two are asked about in the same words.
		ring: keyring.Ring{Name: "latency", Tenant: t.Name, Subscription: subscription, Groups: []string{staff}, Owners: 1 << 30, Life: time.Hour},
	}
	err := w.Create(ctx, append(p.model.Objects(),
		builder.AuthPolicy(t.Namespace, "staff", p.model.Key()).Subjects([]string{staff}, nil).Obj(),
		builder.Subscription(t.Namespace, subscription).Owners([]string{staff}, nil).Limit(p.model.Key(), 1_000_000_000, "1h").Obj(),
	)...)
	if err != nil {
		return nil, err
	}
	if err := w.AwaitSubscription(ctx, builder.Key(t.Namespace, subscription), v1alpha1.PhaseActive); err != nil {
		return nil, err
	}
	policy := kuadrant.New(kuadrant.AuthPolicy)
	if err := w.Admin.Get(ctx, p.model.Policies()[kuadrant.AuthPolicy], policy); err != nil {
		return nil, err
	}
	without, err := withoutCallbacks(policy, p.alone)
	if err != nil {
		return nil, err
	}
	if err := w.Create(ctx, p.alone.Route(), without); err != nil {
		return nil, err
	}
	if err := p.store(ctx, 1); err != nil {
		return nil, err
	}
	p.next = p.stored // The first one is not new to anybody from here on.
	if err := p.awaitSelected(ctx); err != nil {
		return nil, err
	}
	for _, m := range []*measured{&p.model, &p.alone} {
		if m.scope, err = p.scopeOf(ctx, m.Model); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// withoutCallbacks is a policy that tells callers by the same credentials, and then
// asks nobody: it refuses what the model's policy refuses without an answer, and lets
// everybody else pass.
func withoutCallbacks(policy *unstructured.Unstructured, of measured) (*unstructured.Unstructured, error) {
	const (
		refused = "deny-client-identity-headers"
		rules   = "rules"
	)
	authentication, ok, err := unstructured.NestedMap(policy.Object, "spec", rules, "authentication")
	if err != nil || !ok {
		return nil, fmt.Errorf("read authentication of policy %s: %w", policy.GetName(), err)
	}
	refusal, ok, err := unstructured.NestedMap(policy.Object, "spec", rules, "authorization", refused)
	if err != nil || !ok {
		return nil, fmt.Errorf("read rule %s of policy %s: %w", refused, policy.GetName(), err)
	}
	out := kuadrant.New(kuadrant.AuthPolicy)
	out.SetNamespace(of.Namespace)
	out.SetName(of.Name)
	out.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": of.Name},
		rules: map[string]any{
			"authentication": authentication,
			"authorization":  map[string]any{refused: refusal},
			"response": map[string]any{"success": map[string]any{"headers": map[string]any{
				headerOfAlone: map[string]any{"plain": map[string]any{"value": "yes"}},
			}}},
		},
	}
	return out, nil
}

// store stores more keys, and returns when maas-api holds them.
func (p *prepared) store(ctx context.Context, count int) error {
	if err := p.StoreKeys(ctx, p.ring, p.stored, count); err != nil {
		return err
	}
	p.stored += count
	return world.Eventually(ctx, "maas-api to hold the keys", func(ctx context.Context) error {
		page, err := p.MaaSAPIMetrics(ctx)
		if err != nil {
			return err
		}
		if held := int(page.Sum("maas_api_key_index_entries")); held < p.stored {
			return fmt.Errorf("it holds %d of %d", held, p.stored)
		}
		return nil
	})
}

// scopeOf is where the gateway asks about requests to a model, once Authorino lets them
// pass.
func (p *prepared) scopeOf(ctx context.Context, m world.Model) (scope string, err error) {
	request := p.request(m, 0)
	err = p.AwaitAnswer(ctx, request, func(a world.Answer) bool {
		steps := a.Decision.StepsOf("auth")
		if len(steps) != 1 || steps[0].Result != "allowed" {
			return false
		}
		scope = steps[0].Scope
		return true
	})
	return scope, err
}

// awaitSelected waits until maas-api knows of the subscription. It is asked directly,
// for Authorino would remember a refusal.
func (p *prepared) awaitSelected(ctx context.Context) error {
	direct, err := p.Default.Direct(ctx)
	if err != nil {
		return err
	}
	return world.Eventually(ctx, "the subscription to be selected", func(ctx context.Context) error {
		chosen, err := direct.Select(ctx, service.SelectRequest{
			Username: p.ring.Owner(0), Groups: []string{staff}, Subscription: subscription, Model: p.model.Key().String(),
		})
		if err == nil && (chosen.Error != "" || !chosen.AccessAllowed) {
			err = fmt.Errorf("%+v", chosen)
		}
		return err
	})
}

// request is one to a model with a key of the ring.
func (p *prepared) request(m world.Model, key int) world.Request {
	return world.Request{
		Tenant: m.Tenant, Path: m.Path() + "/v1/chat/completions", Headers: world.Bearer(p.ring.Text(key)),
		Body: `{"model":"measured","messages":[{"role":"user","content":"ping"}]}`,
	}
}
