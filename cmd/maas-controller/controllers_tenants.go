// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/controllers/aitenant"
	"github.com/opendatahub-io/maas-operator/controllers/platform"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/dbsecret"
	"github.com/opendatahub-io/maas-operator/internal/desired/access"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/managedns"
)

// platformController is the name of the controller of the installation itself.
const platformController = "platform"

// tenantControllers are those of tenants and of what tenants share.
func tenantControllers() []controller {
	return []controller{
		{name: platformController, setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &platform.Reconciler{
				Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Applier: d.applier, Engine: d.engine, APIs: d.apis,
				Settings: d.installation(), Events: mgr.GetEventRecorder("maas-platform-controller"), Metrics: d.metrics,
			}
			return r.SetupWithManager(ctx, mgr)
		}},
		{name: "aitenant", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &aitenant.Reconciler{
				Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Applier: d.applier, Engine: d.engine, APIs: d.apis,
				Settings: aitenant.Settings{Tenancy: d.tenants.Settings, Tenant: d.workload()},
				Events:   mgr.GetEventRecorder("maas-aitenant-controller"), Clock: clock.RealClock{}, DeletionTimeout: d.config.DeletionTimeout,
				Metrics: d.metrics, MaxConcurrentReconciles: d.config.MaxConcurrentReconciles,
			}
			return r.SetupWithManager(ctx, mgr)
		}},
		{name: "tenantconfig", setUp: func(ctx context.Context, mgr ctrl.Manager, d dependencies) error {
			r := &tenantconfig.Reconciler{
				Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Applier: d.applier, Engine: d.engine, Tenants: d.tenants, APIs: d.apis,
				Settings: d.workload(), Events: mgr.GetEventRecorder("maas-tenantconfig-controller"), Clock: clock.RealClock{},
				Metrics: d.metrics, MaxConcurrentReconciles: d.config.MaxConcurrentReconciles, PayloadProcessing: d.payload,
			}
			return r.SetupWithManager(ctx, mgr)
		}},
	}
}

// workload is the part of the configuration that the objects of tenants depend on.
func (d dependencies) workload() tenant.Settings {
	c := d.config
	return tenant.Settings{
		Platform:            string(d.platform),
		ControllerNamespace: c.ControllerNamespace, InfraNamespace: c.InfraNamespace,
		AITenantNamespace: c.AITenantNamespace, MonitoringNamespace: c.MonitoringNamespace,
		Access: access.Settings{
			InfraNamespace: d.policies.InfraNamespace, Audience: d.policies.Audience,
			MetadataCacheTTL: d.policies.MetadataCacheTTL, AuthorizationCacheTTL: d.policies.AuthorizationCacheTTL,
		},
		CertIssuer:    tenant.CertIssuer{Kind: c.CertIssuerKind, Name: c.CertIssuerName},
		GatewayCAFile: c.GatewayCAFile,
	}
}

// installation is the part of the configuration that shared objects depend on.
func (d dependencies) installation() platform.Settings {
	c := d.config
	return platform.Settings{
		ControllerNamespace: c.ControllerNamespace, InfraNamespace: c.InfraNamespace,
		AITenantNamespace: c.AITenantNamespace, DefaultTenantNamespace: c.SubscriptionNamespace,
		GatewayNamespace: c.GatewayNamespace, GatewayName: c.GatewayName,
		MonitoringNamespace: c.MonitoringNamespace, AuthorinoNamespaces: c.AuthorinoNamespaces,
		Platform: string(d.platform), MaintainInterval: c.MaintainInterval, PayloadProcessing: d.payload,
	}
}

// prepare makes what has to be there before the manager starts, past any cache: the
// namespaces of AITenants and of maas-api, and in the latter the Secret with the
// database's address, when an earlier release had it elsewhere.
func prepare(ctx context.Context, mgr ctrl.Manager, c Config) error {
	if !selected(c.Controllers, platformController) {
		return nil
	}
	direct, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	namespaces := []string{c.AITenantNamespace}
	if c.InfraNamespace != c.ControllerNamespace {
		namespaces = append(namespaces, c.InfraNamespace)
	}
	for _, name := range namespaces {
		if err := managedns.Ensure(ctx, managedns.Options{Client: direct, Name: name, Clock: clock.RealClock{}}); err != nil {
			return err
		}
	}
	return dbsecret.Copy(ctx, dbsecret.Options{Client: direct, Reader: direct, From: c.ControllerNamespace, To: c.InfraNamespace})
}
