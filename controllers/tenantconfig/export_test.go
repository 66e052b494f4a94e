// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
	"github.com/opendatahub-io/maas-operator/internal/guard"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
)

// MonitoringProblem is for the tests.
var MonitoringProblem = monitoringProblem

// seen is the scope after an object was written and seen.
func seen(object *unstructured.Unstructured) *scope {
	return &scope{
		objects: []*unstructured.Unstructured{object},
		live:    map[apply.Ref]*unstructured.Unstructured{apply.InventoryOf(object)[0]: object},
	}
}

// JudgeDeployment is for the tests.
func JudgeDeployment(object *unstructured.Unstructured) (tenantstatus.Observation, error) {
	return seen(object).deployment()
}

// JudgeRoute is for the tests.
func JudgeRoute(object *unstructured.Unstructured, gateway *gwapiv1.Gateway) (tenantstatus.Observation, error) {
	s := seen(object)
	s.gateway = gateway
	s.input.Tenant.Gateway = types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name}
	return s.route()
}

// JudgePolicy is for the tests; a live object of nil was left alone.
func JudgePolicy(object, live *unstructured.Unstructured, now time.Time) tenantstatus.Observation {
	s := seen(object)
	s.live[apply.InventoryOf(object)[0]] = live
	r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(now)}
	return r.policies(s)
}

// Weighing has the configurations of Gateways weighed, for one config.
type Weighing struct {
	r      *Reconciler
	served map[string]bool
}

// NewWeighing is for the tests; the kinds that are served are the names of their CRDs.
func NewWeighing(reader client.Client, clock clock.PassiveClock, served ...string) *Weighing {
	w := &Weighing{r: &Reconciler{Client: reader, APIReader: reader, Clock: clock}, served: map[string]bool{}}
	for _, crd := range served {
		w.served[crd] = true
	}
	return w
}

// Weigh returns the warnings, and when to look again.
func (w *Weighing) Weigh(ctx context.Context, namespace, gateway string) ([]tenantstatus.Warning, time.Duration) {
	s := newScope(&v1alpha1.MaasTenantConfig{})
	s.served = w.served
	s.input.Tenant.Name, s.input.Tenant.Gateway = gateway, types.NamespacedName{Namespace: namespace, Name: gateway}
	w.r.weigh(ctx, s)
	return s.facts.Warnings, s.again
}

// Succeed names the AuthPolicy for which that of a tenant's Gateway waits; empty when it
// does not.
func Succeed(ctx context.Context, reader client.Client, now time.Time, settings tenant.Settings, of tenancy.Context) (string, error) {
	r := &Reconciler{Client: reader, Clock: clocktesting.NewFakePassiveClock(now), Settings: settings}
	s := newScope(&v1alpha1.MaasTenantConfig{})
	s.input.Tenant = of
	err := r.succeed(ctx, s)
	return s.predecessor, err
}

// Prune removes what is recorded in a config of which nothing is wanted, while the
// AuthPolicy of its Gateway waits for a predecessor; for none if that is empty.
func Prune(ctx context.Context, cluster client.Client, config *v1alpha1.MaasTenantConfig, predecessor string) error {
	r := &Reconciler{Client: cluster, Applier: apply.New(cluster, apply.Options{})}
	s := newScope(config)
	s.predecessor = predecessor
	return errors.Join(r.prune(ctx, s), s.unpruned)
}

// Publishes is for the tests.
var Publishes = publishes

// OfModel are the configs that a model concerns, where tenants are named by settings.
func OfModel(ctx context.Context, settings tenancy.Settings, ref *v1alpha1.MaaSModelRef) ([]types.NamespacedName, error) {
	r := &Reconciler{Tenants: lookup.Tenants{Settings: settings}}
	return r.ofModel(ctx, ref)
}

// Heeded is for the tests.
var Heeded = heeded

// HandBackDelay is for the tests.
const HandBackDelay = handBackDelay

// Holds is for the tests.
var Holds = guard.Holds

// Extend brings the add-ons of a config in place as a reconcile does, and decides what
// the conditions say. It reports the warnings.
func Extend(ctx context.Context, r *Reconciler, config *v1alpha1.MaasTenantConfig, of tenancy.Context, served ...string) ([]tenantstatus.Warning, error) {
	s := newScope(config)
	s.input = tenant.Input{Config: config, Tenant: of, GatewayExists: true, Served: s.served, Settings: r.Settings}
	s.usageLogging = true // It depends on there being a namespace for monitoring.
	for _, crd := range served {
		s.served[crd] = true
	}
	if err := r.extend(ctx, s); err != nil {
		return nil, err
	}
	err := errors.Join(r.prune(ctx, s), s.unextended, s.unpruned)
	s.decideAddOns()
	return s.facts.Warnings, err
}
