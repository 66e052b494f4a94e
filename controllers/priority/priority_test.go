// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package priority_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/priority"
	"github.com/opendatahub-io/maas-operator/internal/index"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/internal/tenancy/lookup"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

const tenant = "models-as-a-service"

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// subscription is one that was judged a while ago.
func subscription(name string, level int32, change func(*v1alpha1.MaaSSubscription)) *v1alpha1.MaaSSubscription {
	s := &v1alpha1.MaaSSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: name}}
	s.Spec.Priority = level
	s.Status.Phase = v1alpha1.PhaseActive
	s.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionReady), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
	if change != nil {
		change(s)
	}
	return s
}

// waitingSince makes a subscription wait for the gateway.
func waitingSince(ago time.Duration) func(*v1alpha1.MaaSSubscription) {
	return func(s *v1alpha1.MaaSSubscription) {
		s.Status.Phase = v1alpha1.PhasePending
		s.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-ago))
	}
}

func elsewhere(s *v1alpha1.MaaSSubscription) { s.Namespace = "elsewhere" }

func going(s *v1alpha1.MaaSSubscription) {
	s.DeletionTimestamp = new(metav1.NewTime(now))
	s.Finalizers = []string{"test.example.com/hold"}
}

// cluster is a reconciler among the objects, and the count of its writes.
func cluster(t *testing.T, objects ...client.Object) (*priority.Reconciler, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	writes := 0
	b := fakecluster.Holding(scheme, objects...).WithStatusSubresource(&v1alpha1.MaaSSubscription{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			writes++
			return c.SubResource(sub).Patch(ctx, object, patch, opts...)
		}})
	for _, i := range index.All() {
		b = b.WithIndex(i.Object, i.Name, i.Extract)
	}
	c := b.Build()
	r := priority.Reconciler{Client: c, Tenants: lookup.Tenants{Reader: c, Settings: tenancy.Settings{DefaultNamespace: tenant}}}
	return r.WithClock(clocktesting.NewFakePassiveClock(now)), &writes
}

// verdicts are the conditions of the subscriptions of a namespace, "-" for none.
func verdicts(t *testing.T, r *priority.Reconciler) map[string]string {
	t.Helper()
	var list v1alpha1.MaaSSubscriptionList
	if err := r.Client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range list.Items {
		out[s.Name] = "-"
		if c := meta.FindStatusCondition(s.Status.Conditions, string(v1alpha1.ConditionSpecPriorityDuplicate)); c != nil {
			out[s.Name] = string(c.Status) + " " + c.Reason
		}
	}
	return out
}

func TestPeersAreToldOnce(t *testing.T) {
	t.Parallel()
	const yes, no = "True SharedPriority", "False NoDuplicatePeers"
	for name, tc := range map[string]struct {
		objects   []client.Object
		namespace string
		want      map[string]string
		again     time.Duration
	}{
		"equal priorities are shared":                  {[]client.Object{subscription("a", 1, nil), subscription("b", 1, nil), subscription("c", 2, nil)}, tenant, map[string]string{"a": yes, "b": yes, "c": no}, 0},
		"the default priority is one like others":      {[]client.Object{subscription("a", 0, nil), subscription("b", 0, nil)}, tenant, map[string]string{"a": yes, "b": yes}, 0},
		"other namespaces do not count":                {[]client.Object{subscription("a", 1, nil), subscription("b", 1, elsewhere)}, tenant, map[string]string{"a": no, "b": "-"}, 0},
		"what is going does not count":                 {[]client.Object{subscription("a", 1, nil), subscription("b", 1, going)}, tenant, map[string]string{"a": no, "b": "-"}, 0},
		"a namespace of no tenant is left alone":       {[]client.Object{subscription("b", 1, elsewhere)}, "elsewhere", map[string]string{"b": "-"}, 0},
		"one that waits is told by its next status":    {[]client.Object{subscription("a", 1, waitingSince(time.Second))}, tenant, map[string]string{"a": "-"}, priority.Patience - time.Second},
		"one that waits for long is told all the same": {[]client.Object{subscription("a", 1, waitingSince(priority.Patience))}, tenant, map[string]string{"a": no}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, writes := cluster(t, tc.objects...)
			request := ctrl.Request{NamespacedName: types.NamespacedName{Name: tc.namespace}}
			result, err := r.Reconcile(t.Context(), request)
			if err != nil || result.RequeueAfter != tc.again {
				t.Fatalf("result = %v, err = %v, want another look after %s", result, err, tc.again)
			}
			if diff := cmp.Diff(tc.want, verdicts(t, r)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			before := *writes
			if _, err := r.Reconcile(t.Context(), request); err != nil || *writes != before {
				t.Errorf("a second look wrote %d times, err = %v", *writes-before, err)
			}
		})
	}
}

func TestSharedLooksAtLivePeersOfTheNamespace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		others []client.Object
		want   bool
	}{
		"alone":                     {nil, false},
		"a peer":                    {[]client.Object{subscription("b", 1, nil)}, true},
		"many peers":                {[]client.Object{subscription("b", 1, nil), subscription("c", 1, nil), subscription("0", 1, nil)}, true},
		"another priority":          {[]client.Object{subscription("b", 2, nil)}, false},
		"a peer elsewhere":          {[]client.Object{subscription("b", 1, elsewhere)}, false},
		"a peer that is going":      {[]client.Object{subscription("b", 1, going)}, false},
		"a namesake somewhere else": {[]client.Object{subscription("a", 1, elsewhere)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := subscription("a", 1, nil)
			r, _ := cluster(t, append(tc.others, s)...)
			if got, err := priority.Shared(t.Context(), r.Client, s); err != nil || got != tc.want {
				t.Errorf("Shared() = %t, %v, want %t", got, err, tc.want)
			}
		})
	}
}
