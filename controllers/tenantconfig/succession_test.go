// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/apply"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/fakecluster"
)

// inForce is a policy under a name, as Kuadrant says it of one that it enforces, or
// that it has not judged.
func inForce(namespace, name string, judged bool) *unstructured.Unstructured {
	policy := formerPolicy(name, "red")
	policy.SetNamespace(namespace)
	if !judged {
		return policy
	}
	said := func(kind string) any {
		return map[string]any{"type": kind, "status": "True", "reason": "Because", "message": "", "lastTransitionTime": "2030-01-01T00:00:00Z"}
	}
	policy.Object["status"] = map[string]any{"observedGeneration": int64(0), "conditions": []any{said("Accepted"), said("Enforced")}}
	return policy
}

func TestTheAuthPolicyOfAGatewayWaits(t *testing.T) {
	t.Parallel()
	red := tenancy.Context{Name: "red", ID: "red", Gateway: types.NamespacedName{Namespace: gatewayNamespace, Name: "red"}}
	looked := []metav1.Condition{{Type: string(v1alpha1.ConditionPoliciesApplied), Status: metav1.ConditionFalse, Reason: "RouteNotFound"}}
	granite := func(gateway string, conditions []metav1.Condition) client.Object {
		status := v1alpha1.MaaSModelRefStatus{HTTPRouteGatewayName: gateway, Conditions: conditions}
		if gateway != "" {
			status.HTTPRouteGatewayNamespace = gatewayNamespace
		}
		return builder.ModelRef("llm", "granite").Status(status).Obj()
	}
	former, maasAPI := inForce(gatewayNamespace, "red-maas-auth", true), inForce(infraNamespace, red.MaaSAPIAuthPolicy(), true)
	here, elsewhere := inForce(gatewayNamespace, red.GatewayDefaultAuth(), true), inForce(gatewayNamespace, red.GatewayDefaultAuth(), true)
	elsewhere.Object["spec"] = formerPolicy("", "blue").Object["spec"]
	judged, unjudged := inForce("llm", "maas-auth-granite", true), inForce("llm", "maas-auth-granite", false)
	for name, test := range map[string]struct {
		objects []client.Object
		want    bool
	}{
		"without one before it":                        {[]client.Object{maasAPI, granite("red", nil)}, false},
		"for none":                                     {[]client.Object{former, maasAPI}, false},
		"for that of maas-api":                         {[]client.Object{former}, true},
		"for a model that nobody has looked at":        {[]client.Object{former, maasAPI, granite("red", nil)}, true},
		"for a model whose Gateway nobody knows":       {[]client.Object{former, maasAPI, granite("", nil)}, true},
		"for no model behind another Gateway":          {[]client.Object{former, maasAPI, granite("blue", nil)}, false},
		"for the policy of a model":                    {[]client.Object{former, maasAPI, granite("red", looked), unjudged}, true},
		"no longer":                                    {[]client.Object{former, maasAPI, granite("red", looked), judged}, false},
		"for that of a model whose Gateway is unknown": {[]client.Object{former, maasAPI, granite("", looked), unjudged}, true},
		"once on another Gateway":                      {[]client.Object{former, elsewhere}, true},
		"not any more":                                 {[]client.Object{former, here}, false},
		"for no model without a route":                 {[]client.Object{former, maasAPI, granite("", looked)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := fakecluster.Holding(weighed(t), test.objects...).Build()
			got, err := tenantconfig.Succeed(t.Context(), cluster, time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC), tenantSettings(), red)
			want := ""
			if test.want {
				want = "AuthPolicy openshift-ingress/red-maas-auth"
			}
			if err != nil || got != want {
				t.Errorf("waits for %q, error %v; want %q", got, err, want)
			}
		})
	}
}

// What guards the Gateway that a tenant leaves stays as long as the other is not guarded.
func TestAGuardStaysWhileTheNextOneWaits(t *testing.T) {
	t.Parallel()
	guard := inForce("gateways", "gateway-default-auth-red", true)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kuadrant.AuthPolicy, meta.RESTScopeNamespace)
	for predecessor, want := range map[string]int{"AuthPolicy ingress/red-maas-auth": 1, "": 0} {
		t.Run("for "+predecessor, func(t *testing.T) {
			t.Parallel()
			cluster := fakecluster.Holding(weighed(t), guard).WithRESTMapper(mapper).Build()
			config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: v1alpha1.DefaultTenantConfigName}}
			config.Status.Inventory = apply.InventoryOf(guard).Entries()
			if err := tenantconfig.Prune(t.Context(), cluster, config, predecessor); err != nil {
				t.Fatal(err)
			}
			if len(config.Status.Inventory) != want {
				t.Errorf("%d policies are recorded, want %d", len(config.Status.Inventory), want)
			}
		})
	}
}
