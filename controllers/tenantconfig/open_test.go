// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/controllers/tenantconfig"
	"github.com/opendatahub-io/maas-operator/internal/desired/opening"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
)

func TestWhatAConfigurationSaysOfARoute(t *testing.T) {
	t.Parallel()
	const action = `{"scope":"x","sources":["authpolicy.kuadrant.io:infra/maas-api-auth-policy"]}`
	for name, test := range map[string]struct {
		stored string
		seen   bool
		want   opening.Configuration
	}{
		"an action for each rule":       {`{"actions":[` + action + `,` + action + `]}`, true, opening.Holding},
		"for one rule only":             {`{"actions":[` + action + `]}`, true, opening.Lacking},
		"no action at all":              {`{"actions":[]}`, true, opening.Lacking},
		"actions that name no policy":   {`{"actions":[{"scope":"x"}]}`, true, opening.Silent},
		"there never was one":           {"", false, opening.Silent},
		"there was one, and it is gone": {"", true, opening.Lacking},
		"actions of another tenant's":   {`{"actions":[{"scope":"x","sources":["authpolicy.kuadrant.io:infra/maas-api-auth-policy-red"]}]}`, false, opening.Lacking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tenantconfig.Holds(test.stored, "infra/maas-api-auth-policy", 2, test.seen); got != test.want {
				t.Errorf("Holds() = %d, want %d", got, test.want)
			}
		})
	}
}

// The states of a route.
const (
	routeGone   = "gone"
	routeClosed = "closed"
	routeOpen   = "open"
	routeHalf   = "partly open"
)

// patienceWithClosed is for how long it is looked that a route does not change: longer
// than a guarded one takes to be opened.
const patienceWithClosed = 3 * time.Second

// routeState tells whether the route to a tenant's maas-api leads there, and its UID.
func routeState(t tenantOf) (state string, uid types.UID) {
	route := routeOf(t)
	if err := suite.Admin.Get(t.ctx, client.ObjectKeyFromObject(route), route); err != nil {
		return routeGone, ""
	}
	leading := 0
	for i := range route.Spec.Rules {
		if len(route.Spec.Rules[i].BackendRefs) > 0 {
			leading++
		}
	}
	switch leading {
	case 0:
		return routeClosed, route.UID
	case len(route.Spec.Rules):
		return routeOpen, route.UID
	default:
		return routeHalf, route.UID
	}
}

func stateOf(t tenantOf) func() string {
	return func() string {
		state, _ := routeState(t)
		return state
	}
}

func conditionOf(t tenantOf, kind v1alpha1.ConditionType) metav1.Condition {
	GinkgoHelper()
	c := meta.FindStatusCondition(t.config().Status.Conditions, string(kind))
	Expect(c).NotTo(BeNil())
	return *c
}

// opensOnlyGuarded shows that the route to maas-api leads there once Kuadrant has its
// policy enforced on that very route, and not by what Kuadrant said of an earlier one.
func opensOnlyGuarded(ctx SpecContext, t tenantOf) {
	GinkgoHelper()
	Expect(stateOf(t)()).To(Equal(routeOpen))
	_, before := routeState(t)
	suite.policies.Stall()
	DeferCleanup(suite.policies.Resume)
	Expect(suite.Admin.Delete(ctx, routeOf(t))).To(Succeed())
	Eventually(stateOf(t)).Should(Equal(routeClosed))
	Eventually(t.state).Should(Equal("Pending RouteNotGuarded"))
	Eventually(func(g Gomega) {
		var events eventsv1.EventList
		g.Expect(suite.Admin.List(ctx, &events, client.InNamespace(t.namespace))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("Reason", string(v1alpha1.EventDriftRepaired)), HaveField("Note", ContainSubstring("HTTPRoute "+infraNamespace+"/maas-api-route-"+t.name)))))
	}).Should(Succeed())
	Expect(conditionOf(t, v1alpha1.ConditionRouteAccepted)).To(And(
		HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", string(v1alpha1.ReasonRouteNotGuarded)),
		HaveField("Message", ContainSubstring("leads nowhere until Kuadrant enforces maas-api-auth-policy-"+t.name)),
	))
	Expect(conditionOf(t, v1alpha1.ConditionPoliciesEnforced)).To(HaveField("Status", metav1.ConditionTrue), "it is what Kuadrant said of the former route")
	Consistently(stateOf(t)).WithTimeout(patienceWithClosed).Should(Equal(routeClosed))
	suite.policies.Resume()
	Eventually(t.state).Should(Equal(works))
	state, now := routeState(t)
	Expect(state).To(Equal(routeOpen))
	Expect(now).NotTo(Equal(before))
}

// staysOpen shows that what leads to maas-api is not closed while its policy is called
// unknown, nor when the operator begins to look at it, and that a rule that was added
// meanwhile is not opened before its time.
func staysOpen(ctx SpecContext, t tenantOf) {
	GinkgoHelper()
	Expect(stateOf(t)()).To(Equal(routeOpen))
	_, before := routeState(t)
	suite.policies.Stall()
	DeferCleanup(suite.policies.Resume)

	// As an earlier release left it: without a word of who opened it, and without a rule.
	route := routeOf(t)
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
	patch := client.MergeFrom(route.DeepCopy())
	delete(route.Annotations, v1alpha1.AnnotationOpenedRoute)
	route.Spec.Rules = route.Spec.Rules[:len(route.Spec.Rules)-1]
	Expect(suite.Admin.Patch(ctx, route, patch)).To(Succeed())
	Eventually(stateOf(t)).Should(Equal(routeHalf))
	Eventually(t.state).Should(Equal("Pending RouteNotGuarded"))
	Expect(suite.Admin.Delete(ctx, policyOf(t))).To(Succeed())
	Eventually(t.state).Should(Equal("Pending PoliciesNotEnforced"))
	Consistently(stateOf(t)).WithTimeout(patienceWithClosed).Should(Equal(routeHalf))
	suite.policies.Resume()
	Eventually(t.state).Should(Equal(works))
	state, now := routeState(t)
	Expect(state).To(Equal(routeOpen))
	Expect(now).To(Equal(before))
}

// closesACopy shows that a route that was copied from one that is open is not.
func closesACopy(ctx SpecContext, t tenantOf) {
	GinkgoHelper()
	route := routeOf(t)
	Expect(suite.Admin.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
	_, before := routeState(t)
	suite.policies.Stall()
	DeferCleanup(suite.policies.Resume)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: infraNamespace, Name: v1alpha1.DatabaseSecretName}}
	Expect(suite.Admin.Delete(ctx, secret)).To(Succeed()) // So that the operator makes none.
	Eventually(t.state).Should(Equal("Failed PrerequisitesNotMet"))
	Expect(suite.Admin.Delete(ctx, routeOf(t))).To(Succeed())
	restored := &gwapiv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
		Namespace: route.Namespace, Name: route.Name, Labels: route.Labels, Annotations: route.Annotations,
	}, Spec: route.Spec}
	Expect(suite.Admin.Create(ctx, restored)).To(Succeed())
	Expect(restored.UID).NotTo(Equal(before))
	provideDatabase(ctx, "postgresql://maas@db.example.com/maas")
	Eventually(stateOf(t)).Should(Equal(routeClosed))
	suite.policies.Resume()
	Eventually(t.state).Should(Equal(works))
	Expect(stateOf(t)()).To(Equal(routeOpen))
}

// tellsOfLimitsInItsWay shows that the tenant says who limits maas-api in the place of
// its Gateway.
func tellsOfLimitsInItsWay(ctx SpecContext, t tenantOf) {
	GinkgoHelper()
	foreign := kuadrant.New(kuadrant.TokenRateLimitPolicy)
	foreign.SetNamespace(infraNamespace)
	foreign.SetName("limits-of-somebody")
	foreign.Object["spec"] = map[string]any{
		"targetRef": map[string]any{"group": gwapiv1.GroupName, "kind": "HTTPRoute", "name": routeOf(t).Name},
		"limits":    map[string]any{"many": map[string]any{"rates": []any{map[string]any{"limit": int64(1000), "window": "1m"}}}},
	}
	Expect(suite.Admin.Create(ctx, foreign)).To(Succeed())
	Eventually(t.state).Should(Equal("Failed PoliciesNotEnforced"))
	Expect(conditionOf(t, v1alpha1.ConditionPoliciesEnforced).Message).To(And(
		ContainSubstring("TokenRateLimitPolicy "+infraNamespace+"/limits-of-somebody on the HTTPRoute of maas-api in the place of"),
		ContainSubstring("gateway-default-deny-"+t.name)))
	Expect(suite.Admin.Delete(ctx, &unstructured.Unstructured{Object: foreign.Object})).To(Succeed())
	Eventually(t.state).Should(Equal(works))
	Expect(stateOf(t)()).To(Equal(routeOpen))
}
