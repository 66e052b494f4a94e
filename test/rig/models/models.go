// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package models sets up, for suites, the controllers that together write the policies
// of models and judge what becomes of them, and the default tenant to which the models
// belong. Finding the route of a model is not among it.
package models

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/authpolicy"
	"github.com/opendatahub-io/maas-operator/controllers/modelpolicy"
	"github.com/opendatahub-io/maas-operator/controllers/subscription"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/model"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/parts"
	"github.com/opendatahub-io/maas-operator/test/rig"
)

// The default tenant.
const (
	TenantNamespace  = "models-as-a-service"
	GatewayNamespace = "openshift-ingress"
	GatewayName      = "maas-default-gateway"
)

// cacheTTL is that of verdicts in the gateway, in seconds.
const cacheTTL = 60

// CreateTenant creates what exists before any model: the default tenant's namespace
// and its Gateway.
func CreateTenant(ctx context.Context, r *rig.Rig) {
	ginkgo.GinkgoHelper()
	r.CreateNamespaces(ctx, TenantNamespace, GatewayNamespace)
	r.CreateGatewayClass(ctx)
	gomega.Expect(r.Admin.Create(ctx, rig.Gateway(GatewayNamespace, GatewayName))).To(gomega.Succeed())
}

// Tenants finds the tenants of models.
func Tenants(reader client.Reader) lookup.Tenants {
	return lookup.Tenants{Reader: reader, Settings: tenancy.Settings{
		Gateway:          types.NamespacedName{Namespace: GatewayNamespace, Name: GatewayName},
		DefaultNamespace: TenantNamespace, AITenantNamespace: "ai-tenants", Discovery: true,
	}}
}

// SetUp registers the controllers, and the indexes they look things up by.
func SetUp(ctx context.Context, mgr ctrl.Manager, apis *facts.OptionalAPIs) error {
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	tenants := Tenants(mgr.GetClient())
	policies := &modelpolicy.Reconciler{
		Client: mgr.GetClient(), Applier: apply.New(mgr.GetClient(), apply.Options{APIReader: mgr.GetAPIReader()}),
		Engine: parts.Engine(ginkgo.GinkgoTB()), Tenants: tenants, APIs: apis,
		Settings: model.Settings{InfraNamespace: "odh-ai-gateway-infra", Audience: "https://kubernetes.default.svc", MetadataCacheTTL: cacheTTL, AuthorizationCacheTTL: cacheTTL},
		Events:   mgr.GetEventRecorder("maas-modelpolicy-controller"), MaxConcurrentReconciles: 2,
	}
	if err := policies.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	authPolicies := &authpolicy.Reconciler{Client: mgr.GetClient(), Tenants: tenants, Events: mgr.GetEventRecorder("maas-authpolicy-controller"), MaxConcurrentReconciles: 2}
	if err := authPolicies.SetupWithManager(ctx, mgr, apis); err != nil {
		return err
	}
	subscriptions := &subscription.Reconciler{Client: mgr.GetClient(), Tenants: tenants, Events: mgr.GetEventRecorder("maas-subscription-controller"), MaxConcurrentReconciles: 4}
	return subscriptions.SetupWithManager(ctx, mgr, apis)
}
