// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	desiredtenant "github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/desired/tenant"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// discoverer serves the Gateway API, or fails.
type discoverer struct{ err error }

func (d discoverer) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Kind: "Gateway"}}}, d.err
}

var errBroken = errors.New("the API server is broken")

// answers is what a client does otherwise than the store, and how the tenant ends up.
type answers struct {
	funcs     interceptor.Funcs
	discovery discoverer
	change    func(tenant *v1alpha1.AITenant, gateway *gwapiv1.Gateway)

	wantPhase  v1alpha1.AITenantPhase
	wantStatus metav1.ConditionStatus
	wantReason v1alpha1.ConditionReason
	wantAgain  time.Duration
	wantErr    bool
}

// Answers of the API server that a real one gives only by chance.
func TestAnswersThatComeByChance(t *testing.T) {
	t.Parallel()
	for name, tt := range chances() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := storeOf(t, tt)
			r := &aitenant.Reconciler{
				Client: interceptor.NewClient(store, tt.funcs), APIReader: store, Engine: parts.Engine(t), APIs: facts.NewOptionalAPIs(tt.discovery),
				Applier: apply.New(store, apply.Options{}), Events: events.NewFakeRecorder(100), Clock: clocktesting.NewFakePassiveClock(time.Time{}),
				Settings: aitenant.Settings{
					Tenancy: tenancy.Settings{Gateway: types.NamespacedName{Namespace: gatewayNamespace, Name: defaultGateway}, DefaultNamespace: defaultNamespace, AITenantNamespace: aitenantNamespace},
					Tenant:  tenant.Settings{InfraNamespace: infraNamespace, AITenantNamespace: aitenantNamespace},
				},
			}
			key := types.NamespacedName{Namespace: aitenantNamespace, Name: "green"}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if (err != nil) != tt.wantErr || result.RequeueAfter != tt.wantAgain {
				t.Errorf("Reconcile() = %v, %v, want an error: %t, again after %v", result, err, tt.wantErr, tt.wantAgain)
			}
			got := &v1alpha1.AITenant{}
			if err := store.Get(t.Context(), key, got); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(got.Status.Conditions, string(v1alpha1.ConditionReady))
			if ready == nil {
				ready = &metav1.Condition{}
			}
			if got.Status.Phase != tt.wantPhase || ready.Status != tt.wantStatus || ready.Reason != string(tt.wantReason) {
				t.Errorf("status is %s/%s/%s, want %s/%s/%s", got.Status.Phase, ready.Status, ready.Reason, tt.wantPhase, tt.wantStatus, tt.wantReason)
			}
		})
	}
}

// storeOf holds a tenant that lacks nothing but what is being tested.
func storeOf(t *testing.T, tt answers) client.WithWatch {
	t.Helper()
	green := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: "green", UID: "uid-of-green", Generation: 1}}
	gateway := &gwapiv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: "green"}}
	if tt.change != nil {
		tt.change(green, gateway)
	}
	config := desiredtenant.NewConfig(green, "ai-tenant-green")
	config.Generation = 1
	meta.SetStatusCondition(&config.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Played", ObservedGeneration: 1})
	return fakecluster.Holding(parts.Scheme(t),
		green, gateway, config, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: infraNamespace}},
	).WithStatusSubresource(green, config).Build()
}

// blind lets a client not find objects of one type.
func blind[T client.Object]() interceptor.Funcs {
	return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(T); ok {
			return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
		}
		return c.Get(ctx, key, o, opts...)
	}}
}

// failing lets a client fail to read objects of one type.
func failing[T client.Object]() interceptor.Funcs {
	return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(T); ok {
			return errBroken
		}
		return c.Get(ctx, key, o, opts...)
	}}
}

// refusing lets a client fail to write an object of that name.
func refusing(name string, err error) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetName() == name {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if o.GetName() == name {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}
}

func withSelector(_ *v1alpha1.AITenant, gateway *gwapiv1.Gateway) {
	gateway.Spec.Listeners = []gwapiv1.Listener{{AllowedRoutes: &gwapiv1.AllowedRoutes{Namespaces: &gwapiv1.RouteNamespaces{
		From: new(gwapiv1.NamespacesFromSelector), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}},
	}}}}
}

func wasActive(tenant *v1alpha1.AITenant, _ *gwapiv1.Gateway) {
	tenant.Status.Phase = v1alpha1.AITenantPhaseActive
}

func chances() map[string]answers {
	lost := blind[*v1alpha1.MaasTenantConfig]()
	lost.Create = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, ok := o.(*v1alpha1.MaasTenantConfig); ok {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, o.GetNamespace())
		}
		return c.Create(ctx, o, opts...)
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "namespaces"}, infraNamespace, errBroken)
	return map[string]answers{
		"none": {wantPhase: v1alpha1.AITenantPhaseActive, wantStatus: metav1.ConditionTrue, wantReason: v1alpha1.ReasonReconciled},
		// E-36
		"the namespace is not known everywhere yet": {
			funcs: lost, wantPhase: v1alpha1.AITenantPhasePending, wantStatus: metav1.ConditionFalse, wantReason: v1alpha1.ReasonTenantNamespacePending, wantAgain: time.Second,
		},
		// E-62
		"the cache does not know the config yet": {
			funcs: blind[*v1alpha1.MaasTenantConfig](), wantPhase: v1alpha1.AITenantPhaseActive, wantStatus: metav1.ConditionTrue, wantReason: v1alpha1.ReasonReconciled,
		},
		"a Gateway that cannot be read is not a missing one": {
			funcs: failing[*gwapiv1.Gateway](), change: wasActive, wantErr: true,
			wantPhase: v1alpha1.AITenantPhaseActive, wantStatus: metav1.ConditionUnknown, wantReason: v1alpha1.ReasonGatewayCheckFailed,
		},
		"nor one of which nobody tells whether its API is served": {
			discovery: discoverer{err: errBroken}, wantErr: true,
			wantPhase: v1alpha1.AITenantPhasePending, wantStatus: metav1.ConditionUnknown, wantReason: v1alpha1.ReasonGatewayCheckFailed,
		},
		"the API of Gateways is not installed": {
			discovery: discoverer{err: apierrors.NewNotFound(schema.GroupResource{}, "v1")},
			wantPhase: v1alpha1.AITenantPhaseFailed, wantStatus: metav1.ConditionFalse, wantReason: v1alpha1.ReasonGatewayCheckFailed,
		},
		"the namespace is refused": {
			funcs: refusing("ai-tenant-green", errBroken), wantErr: true,
			wantPhase: v1alpha1.AITenantPhaseFailed, wantStatus: metav1.ConditionFalse, wantReason: v1alpha1.ReasonTenantNamespaceFailed,
		},
		"another tenant labels the namespace of maas-api at the same time": {
			funcs: refusing(infraNamespace, conflict), change: withSelector, wantAgain: 100 * time.Millisecond, wantPhase: v1alpha1.AITenantPhasePending,
		},
		"the namespace of maas-api cannot be labelled": {
			funcs: refusing(infraNamespace, errBroken), change: withSelector, wantErr: true,
			wantPhase: v1alpha1.AITenantPhaseActive, wantStatus: metav1.ConditionTrue, wantReason: v1alpha1.ReasonReconciled,
		},
		"the AITenant is gone before it got its finalizer": {
			funcs: refusing("green", apierrors.NewNotFound(schema.GroupResource{}, "green")), wantPhase: "",
		},
	}
}
