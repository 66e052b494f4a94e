// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/facts"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
	"github.com/opendatahub-io/maas-operator/test/parts"
)

// serving are the kinds that a cluster serves, as "<group>/<version> <kind>".
type serving []string

func (d serving) ServerResourcesForGroupVersion(gv string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: gv}
	for _, entry := range d {
		if served, kind, _ := strings.Cut(entry, " "); served == gv {
			list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
		}
	}
	return list, nil
}

// broken cannot be asked.
type broken struct{}

func (broken) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	return nil, errors.New("no answer")
}

// small is an operator whose cluster holds the given objects and serves some kinds.
type small struct {
	objects   []client.Object
	discovery facts.Discovery
	dormant   bool
	funcs     interceptor.Funcs
	// kinds are those of others that it serves.
	kinds []schema.GroupVersionKind
}

func (f small) reconciler(t *testing.T) *tenantconfig.Reconciler {
	t.Helper()
	if f.discovery == nil {
		f.discovery = serving{}
	}
	scheme := parts.Scheme(t)
	for _, kind := range f.kinds {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	}
	mapper := meta.NewDefaultRESTMapper(scheme.PrioritizedVersionsAllGroups())
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	c := fakecluster.Holding(scheme, f.objects...).WithRESTMapper(mapper).WithStatusSubresource(&v1alpha1.MaasTenantConfig{}).WithInterceptorFuncs(f.funcs).Build()
	settings := tenancies()
	settings.Discovery = !f.dormant
	return &tenantconfig.Reconciler{
		Client: c, APIReader: c, Applier: apply.New(c, apply.Options{}), Engine: parts.Engine(t),
		Tenants: lookup.Tenants{Reader: c, Settings: settings}, APIs: facts.NewOptionalAPIs(f.discovery), Settings: tenantSettings(),
		Events: events.NewFakeRecorder(100), Clock: clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
}

func config(namespace string, change func(*v1alpha1.MaasTenantConfig)) *v1alpha1.MaasTenantConfig {
	c := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName, UID: "config-uid", Generation: 4,
		Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	if change != nil {
		change(c)
	}
	return c
}

func stamped(tenant string) func(*v1alpha1.MaasTenantConfig) {
	return func(c *v1alpha1.MaasTenantConfig) {
		stamp := tenancy.StampOf(types.NamespacedName{Namespace: aitenantNamespace, Name: tenant}, c.Namespace)
		c.Labels, c.Annotations = stamp.Labels, stamp.Annotations
	}
}

func state(word string) func(*v1alpha1.MaasTenantConfig) {
	return func(c *v1alpha1.MaasTenantConfig) { c.Annotations[v1alpha1.AnnotationManagementState] = word }
}

func installation() *v1alpha1.Config {
	return &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ConfigName, UID: "installation-uid"}}
}

func terminating() *v1alpha1.Config {
	c := installation()
	c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"example.com/held"}
	return c
}

func aiTenant(name, gateway string) *v1alpha1.AITenant {
	t := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: aitenantNamespace, Name: name, UID: "tenant-uid"}}
	if gateway != "" {
		t.Status.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: gateway}
	}
	return t
}

func allKinds() serving {
	return serving{
		"authorino.kuadrant.io/v1beta3 AuthConfig", "kuadrant.io/v1 AuthPolicy", "kuadrant.io/v1alpha1 TokenRateLimitPolicy",
		"gateway.networking.k8s.io/v1 Gateway", "gateway.networking.k8s.io/v1 HTTPRoute",
	}
}

// E-101, E-108–E-111, E-113–E-116, E-118, E-119 and the missing API of E-row 1.10.
func TestWhatEndsAReconcileEarly(t *testing.T) {
	t.Parallel()
	const red = "ai-tenant-red"
	for name, test := range map[string]struct {
		config  *v1alpha1.MaasTenantConfig
		others  []client.Object
		dormant bool
		served  facts.Discovery
		// want is "<phase> <Ready> <reason>", wantText part of the message. Empty: the
		// config is left alone.
		want, wantText string
		// wantAgain: nothing that is watched tells when it is over.
		wantAgain time.Duration
	}{
		"no Config":                           {config: config(defaultNamespace, nil), want: "Pending False ConfigMissing", wantText: "named default"},
		"a Config that goes":                  {config: config(defaultNamespace, nil), others: []client.Object{terminating()}, want: "Pending False ConfigTerminating"},
		"Removed waits for the Config":        {config: config(defaultNamespace, state("Removed")), others: []client.Object{terminating()}, want: "Pending False ConfigTerminating"},
		"Unmanaged needs no Config":           {config: config(defaultNamespace, state("Unmanaged")), want: " False ManagementStateIdle", wantText: v1alpha1.AnnotationManagementState},
		"an unknown management state":         {config: config(defaultNamespace, state("Paused")), want: "Failed False UnexpectedManagementState", wantText: v1alpha1.AnnotationManagementState},
		"dormant, in a foreign namespace":     {config: config(red, stamped("red")), dormant: true},
		"without labels, in a foreign one":    {config: config("elsewhere", nil), others: []client.Object{installation()}},
		"no gateway in the tenant's status":   {config: config(red, stamped("red")), others: []client.Object{installation(), aiTenant("red", "")}, want: "Failed False InvalidGateway", wantText: "no gateway in its status"},
		"no AITenant":                         {config: config(red, stamped("red")), others: []client.Object{installation()}, want: "Failed False InvalidGateway", wantText: "does not exist"},
		"a lost annotation":                   {config: config(red, lost(v1alpha1.AnnotationAITenantName)), others: []client.Object{installation(), aiTenant("red", "red")}, want: "Failed False InvalidGateway", wantText: v1alpha1.AnnotationAITenantName},
		"a lost tenant name":                  {config: config(red, lost(v1alpha1.LabelTenantName)), others: []client.Object{installation(), aiTenant("red", "red")}, want: "Failed False InvalidGateway", wantText: v1alpha1.LabelTenantName},
		"a forged tenant namespace":           {config: config(red, forged), others: []client.Object{installation(), aiTenant("red", "red")}, want: "Failed False InvalidGateway", wantText: v1alpha1.LabelTenantNamespace},
		"the default tenant's name elsewhere": {config: config(red, stamped(tenancy.DefaultName)), others: []client.Object{installation(), aiTenant(tenancy.DefaultName, "red")}, want: "Failed False InvalidGateway", wantText: "whose namespace is"},
		"no APIs":                             {config: config(defaultNamespace, nil), others: []client.Object{installation()}, want: "Pending False DependenciesNotAvailable", wantText: "authconfigs.authorino.kuadrant.io"},
		"no Gateway":                          {config: config(defaultNamespace, nil), others: []client.Object{installation()}, served: allKinds(), want: "Pending False GatewayNotReady", wantText: defaultGateway},
		"a Gateway another tenant claims":     {config: config(defaultNamespace, nil), others: []client.Object{installation(), claimOf(defaultGateway, "thief")}, served: allKinds(), want: "Failed False InvalidGateway", wantText: "claimed by AITenant thief", wantAgain: tenantconfig.HandBackDelay},
		"nobody can tell what is served":      {config: config(defaultNamespace, nil), others: []client.Object{installation()}, served: broken{}, want: "Pending Unknown DependencyCheckFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := small{objects: append(test.others, test.config), dormant: test.dormant, discovery: test.served}.reconciler(t)
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(test.config)})
			if wantErr := test.served == (broken{}); (err != nil) != wantErr || result.RequeueAfter != test.wantAgain {
				t.Fatalf("Reconcile() = %v, %v, want an error: %t, again after %v", result, err, wantErr, test.wantAgain)
			}
			got := &v1alpha1.MaasTenantConfig{}
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(test.config), got); err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if diff := cmp.Diff(v1alpha1.MaasTenantConfigStatus{}, got.Status); diff != "" || len(got.Finalizers) > 0 {
					t.Errorf("status (-want +got):\n%s\nfinalizers %v, want the object left alone", diff, got.Finalizers)
				}
				return
			}
			ready := meta.FindStatusCondition(got.Status.Conditions, string(v1alpha1.ConditionReady))
			if words := string(got.Status.Phase) + " " + string(ready.Status) + " " + ready.Reason; words != test.want || !strings.Contains(ready.Message, test.wantText) {
				t.Errorf("status = %s: %s; want %s with %q", words, ready.Message, test.want, test.wantText)
			}
			if got.Status.InfraNamespace != infraNamespace || got.Status.ObservedGeneration != 4 || ready.ObservedGeneration != 4 {
				t.Errorf("infraNamespace %q, generation %d, want both set", got.Status.InfraNamespace, got.Status.ObservedGeneration)
			}
		})
	}
}

// claimOf is an AITenant's claim on a Gateway.
func claimOf(gateway, aiTenant string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: aitenantNamespace, Name: tenancy.GatewayClaim(gatewayNamespace, gateway),
		Labels:      map[string]string{v1alpha1.LabelGatewayClaim: "true"},
		Annotations: map[string]string{v1alpha1.AnnotationAITenantName: aiTenant},
	}}
}

func lost(mark string) func(*v1alpha1.MaasTenantConfig) {
	return func(c *v1alpha1.MaasTenantConfig) {
		stamped("red")(c)
		delete(c.Labels, mark)
		delete(c.Annotations, mark)
	}
}

func forged(c *v1alpha1.MaasTenantConfig) {
	stamped("red")(c)
	c.Labels[v1alpha1.LabelTenantNamespace] = defaultNamespace
}

// Keys are told apart by the UID of the AITenant: without it, or with that of another
// one, nothing is rolled out.
func TestServicesWaitForTheAITenantThatManagesThem(t *testing.T) {
	t.Parallel()
	marked := func(uid string) *v1alpha1.MaasTenantConfig {
		return config("ai-tenant-red", func(c *v1alpha1.MaasTenantConfig) {
			stamped("red")(c)
			if c.Annotations[v1alpha1.AnnotationAITenantUID] = uid; uid == "" {
				delete(c.Annotations, v1alpha1.AnnotationAITenantUID)
			}
		})
	}
	for name, test := range map[string]struct {
		uid string
		// looks is how often the AITenant is found before it is gone.
		looks          int
		want, wantText string
	}{
		"marked by it":            {uid: "tenant-uid", looks: 9, want: "GatewayNotReady"},
		"marked without a UID":    {looks: 9, want: "GatewayNotReady"},
		"marked by a former one":  {uid: "former-uid", looks: 9, want: "TenantNotReady", wantText: "was made anew"},
		"it goes while we look":   {uid: "tenant-uid", looks: 1, want: "TenantNotReady", wantText: "There is no AITenant ai-tenants/red"},
		"that of an unmarked one": {looks: 1, want: "TenantNotReady", wantText: "There is no AITenant ai-tenants/red"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := marked(test.uid)
			looks := 0
			r := small{objects: []client.Object{c, installation(), aiTenant("red", "red")}, discovery: allKinds(), funcs: interceptor.Funcs{
				Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
					if _, ok := object.(*v1alpha1.AITenant); ok {
						if looks++; looks > test.looks {
							return apierrors.NewNotFound(schema.GroupResource{Resource: "aitenants"}, key.Name)
						}
					}
					return w.Get(ctx, key, object, opts...)
				},
			}}.reconciler(t)
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err != nil {
				t.Fatal(err)
			}
			if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(c.Status.Conditions, string(v1alpha1.ConditionReady))
			if c.Status.Phase != v1alpha1.TenantPhasePending || ready.Reason != test.want || !strings.Contains(ready.Message, test.wantText) {
				t.Errorf("status = %s %s: %s; want Pending %s with %q", c.Status.Phase, ready.Reason, ready.Message, test.want, test.wantText)
			}
		})
	}
}

// E-99.
func TestAConfigThatIsGoneIsNoError(t *testing.T) {
	t.Parallel()
	result, err := small{}.reconciler(t).Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}})
	if err != nil || result != (ctrl.Result{}) {
		t.Errorf("Reconcile() = %v, %v, want nothing", result, err)
	}
}

// E-100: a deletion that waits for others is not ours.
func TestADeletionWithoutOurFinalizerIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := config(defaultNamespace, func(c *v1alpha1.MaasTenantConfig) {
		c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"example.com/held"}
	})
	subscription := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: "kept"}}
	r := small{objects: []client.Object{c, subscription}}.reconciler(t)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(subscription), subscription); err != nil {
		t.Errorf("the subscription is gone: %v", err)
	}
}

// A read that fails says nothing about the tenant: phase and conditions stay.
func TestAFailedReadKeepsWhatWasKnown(t *testing.T) {
	t.Parallel()
	c := config(defaultNamespace, func(c *v1alpha1.MaasTenantConfig) {
		c.Status.Phase = v1alpha1.TenantPhaseActive
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: string(v1alpha1.ConditionReady), Status: metav1.ConditionTrue, Reason: "Reconciled"})
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: string(v1alpha1.ConditionDeploymentsAvailable), Status: metav1.ConditionTrue, Reason: "DeploymentsReady"})
	})
	r := small{objects: []client.Object{c}, funcs: interceptor.Funcs{
		Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if _, ok := object.(*v1alpha1.Config); ok {
				return errors.New("no answer")
			}
			return w.Get(ctx, key, object, opts...)
		},
	}}.reconciler(t)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err == nil {
		t.Error("Reconcile() error = nil, want the failed read")
	}
	got := &v1alpha1.MaasTenantConfig{}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(c), got); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(got.Status.Conditions, string(v1alpha1.ConditionReady))
	if got.Status.Phase != v1alpha1.TenantPhaseActive || ready.Status != metav1.ConditionUnknown || ready.Reason != string(v1alpha1.ReasonGetFailed) ||
		!meta.IsStatusConditionTrue(got.Status.Conditions, string(v1alpha1.ConditionDeploymentsAvailable)) {
		t.Errorf("status = %+v, want Ready Unknown and the rest as it was", got.Status)
	}
	if strings.Contains(ready.Message, "no answer") {
		t.Errorf("message %q shows the error", ready.Message)
	}
}
