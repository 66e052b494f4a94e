// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

func (w *world) create(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := w.stage.Admin.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

func modelKey(i int) types.NamespacedName {
	return builder.Key(stage.ModelNamespace, fmt.Sprintf("model-%04d", i))
}

// model creates a model with its server, its route and an auth policy.
func (w *world) model(ctx context.Context, i int) error {
	key := modelKey(i)
	return w.create(ctx,
		builder.Route(key.Namespace, key.Name, stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname).Obj(),
		builder.ModelServer(key.Namespace, key.Name),
		builder.ModelRef(key.Namespace, key.Name).Obj(),
		builder.AuthPolicy(stage.TenantNamespace, key.Name, key).Obj(),
	)
}

// subscription is one of a tenant: its own group, one of a few rates.
func subscription(name string, number int, key types.NamespacedName) *v1alpha1.MaaSSubscription {
	const rates, tokens = 4, 1000
	return builder.Subscription(stage.TenantNamespace, name).Owners([]string{"team-" + name}, nil).
		Limit(key, int64(1+number%rates)*tokens, "1m").Obj()
}

// subscribe creates subscriptions to one model, several at a time.
func (w *world) subscribe(ctx context.Context, n int, key types.NamespacedName) error {
	return w.each(ctx, n, func(ctx context.Context, i int) error {
		return w.create(ctx, subscription(fmt.Sprintf("s-%04d", i), i, key))
	})
}

// unsubscribe deletes all subscriptions and waits until none is left.
func (w *world) unsubscribe(ctx context.Context) error {
	if err := w.stage.Admin.DeleteAllOf(ctx, &v1alpha1.MaaSSubscription{}, client.InNamespace(stage.TenantNamespace)); err != nil {
		return fmt.Errorf("delete subscriptions: %w", err)
	}
	_, err := w.await(ctx, 0)
	return err
}

// sizes records how large a model's policies are as they are stored.
func (w *world) sizes(ctx context.Context, key types.NamespacedName, s *Scenario) error {
	for _, p := range []struct {
		kind schema.GroupVersionKind
		name string
	}{
		{kuadrant.AuthPolicy, model.AuthPolicyName(key.Name)},
		{kuadrant.TokenRateLimitPolicy, model.TokenRateLimitPolicyName(key.Name)},
	} {
		policy := kuadrant.New(p.kind)
		if err := w.stage.Admin.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: p.name}, policy); err != nil {
			return fmt.Errorf("read %s %s: %w", p.kind.Kind, p.name, err)
		}
		size, err := kibOf(policy)
		if err != nil {
			return err
		}
		s.add("size of the "+p.kind.Kind, KiB, size)
	}
	return nil
}

func kibOf(o *unstructured.Unstructured) (float64, error) {
	data, err := json.Marshal(o.Object)
	if err != nil {
		return 0, fmt.Errorf("encode %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return float64(len(data)) / bytesPerKiB, nil
}
