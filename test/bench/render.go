// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/images"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/templates"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// renderTime measures, in this process, how long the operator's own functions
// take from the facts about a model to its policies.
func (w *world) renderTime(ctx context.Context, s *Scenario, key types.NamespacedName) error {
	engine, err := render.New(templates.FS, desired.Components(), render.WithImages(images.Development()))
	if err != nil {
		return fmt.Errorf("load the templates: %w", err)
	}
	in, err := w.input(ctx, key)
	if err != nil {
		return err
	}
	const rounds = 20
	var took []float64
	for range rounds {
		began := time.Now()
		out, err := model.Build(in)
		if err != nil {
			return err
		}
		if _, err := engine.RenderAll(out.Requests()); err != nil {
			return fmt.Errorf("render the policies of %s: %w", key, err)
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
	}
	s.add("deciding and rendering a model's policies", Millis, median(took))
	return nil
}

// input is what the operator would know of a model.
func (w *world) input(ctx context.Context, key types.NamespacedName) (model.Input, error) {
	in := model.Input{
		Model: key, Route: key.Name,
		Tenant: tenancy.Context{
			Name:    tenancy.DefaultName,
			Gateway: types.NamespacedName{Namespace: stage.GatewayNamespace, Name: stage.GatewayName},
		},
		Settings: model.Settings{InfraNamespace: "infra", Audience: "https://kubernetes.default.svc", MetadataCacheTTL: 60, AuthorizationCacheTTL: 60},
	}
	var policies v1alpha1.MaaSAuthPolicyList
	if err := w.stage.Admin.List(ctx, &policies, client.InNamespace(stage.TenantNamespace)); err != nil {
		return in, fmt.Errorf("list auth policies: %w", err)
	}
	for i := range policies.Items {
		if slices.Contains(index.GrantedModels(&policies.Items[i]), key) {
			in.AuthPolicies = append(in.AuthPolicies, model.AuthPolicy{Object: &policies.Items[i], Tenant: tenancy.DefaultName})
		}
	}
	var subscriptions v1alpha1.MaaSSubscriptionList
	if err := w.stage.Admin.List(ctx, &subscriptions, client.InNamespace(stage.TenantNamespace)); err != nil {
		return in, fmt.Errorf("list subscriptions: %w", err)
	}
	for i := range subscriptions.Items {
		if slices.Contains(index.SubscribedModels(&subscriptions.Items[i]), key) {
			in.Subscriptions = append(in.Subscriptions, model.Subscription{Object: &subscriptions.Items[i], Tenant: tenancy.DefaultName})
		}
	}
	return in, nil
}

func median(values []float64) float64 { return Measure{Values: values}.Median() }
