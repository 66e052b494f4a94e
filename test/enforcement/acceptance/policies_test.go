// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/status"
)

const (
	// enforced is the verdict on a policy that Kuadrant has carried out as it is now.
	enforced = "Accepted Enforced"
	// partly is the verdict on limits that those of a route replace there: Kuadrant
	// reports that as a failure, and enforces them on all other routes. Of AuthPolicies
	// it says that they are enforced partially.
	partly = "Accepted not Enforced: Unknown: TokenRateLimitPolicy has encountered some issues: policy rule(s) overridden: deny-all-by-default"
)

var _ = Describe("Kuadrant", func() {
	for _, p := range profiles() {
		Describe("on "+p.name, Ordered, func() {
			var on *installation

			BeforeAll(func(ctx SpecContext) {
				on = p.install(ctx)
			}, NodeTimeout(startTimeout))

			AfterEach(func() {
				on.say()
				on.alive()
			})

			It("accepts and enforces the policies of tenants that have no models yet", func(ctx SpecContext) {
				on.invite(ctx)
				Eventually(on.unlike(ctx, ofTenants())).Should(BeEmpty())
			})

			It("accepts and enforces the policies of models", func(ctx SpecContext) {
				on.furnish(ctx)
				Eventually(on.unlike(ctx, ofModels())).Should(BeEmpty())
			})

			It("leaves tenants ready and subscriptions active", func(ctx SpecContext) {
				for _, subscription := range subscriptions() {
					Eventually(on.phase(ctx, subscription)).Should(Equal(string(v1alpha1.PhaseActive)), subscription.GetName())
				}
				on.settled(ctx)
				Eventually(on.unlike(ctx, ofModels())).Should(BeEmpty())
			})

			It("still limits a route without limits of its own to nothing", func(ctx SpecContext) {
				for _, t := range tenants() {
					Expect(on.limits(ctx)).To(ContainElement(And(
						HaveKeyWithValue("namespace", stage.ModelNamespace+"/"+t.unguarded()),
						HaveKeyWithValue("max_value", BeNumerically("==", 0)),
					)), t.name)
				}
			})

			It("generates the same from them as ever", func(ctx SpecContext) {
				on.compare(ctx)
			})
		})
	}
})

// ofTenants are the verdicts on the policies that the tenants have whatever models they
// have: those of maas-api's route and the defaults of the Gateway.
func ofTenants() map[string]string {
	want := map[string]string{}
	for _, t := range tenants() {
		names := t.names()
		want["AuthPolicy "+infra+"/"+names.MaaSAPIAuthPolicy()] = enforced
		want["AuthPolicy "+stage.GatewayNamespace+"/"+names.GatewayDefaultAuth()] = enforced
		want[t.deny()] = enforced
	}
	return want
}

// ofModels are the verdicts once there are models with policies of their own.
func ofModels() map[string]string {
	want := ofTenants()
	for _, t := range tenants() {
		want[t.deny()] = partly
	}
	for _, model := range []types.NamespacedName{granite, free, mistral} {
		want["AuthPolicy "+model.Namespace+"/maas-auth-"+model.Name] = enforced
		want["TokenRateLimitPolicy "+model.Namespace+"/maas-trlp-"+model.Name] = enforced
	}
	return want
}

// deny names the limits of the tenant's Gateway, which let nothing pass.
func (t tenant) deny() string {
	return "TokenRateLimitPolicy " + stage.GatewayNamespace + "/" + t.names().GatewayDefaultDeny()
}

// unlike shows the verdicts that are not as they should be, and policies that are missing
// or too many.
func (on *installation) unlike(ctx context.Context, want map[string]string) func() (string, error) {
	return func() (string, error) {
		got, err := on.verdicts(ctx)
		return cmp.Diff(want, got), err
	}
}

// verdicts are what Kuadrant says of every generated policy.
func (on *installation) verdicts(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{kuadrant.AuthPolicy, kuadrant.TokenRateLimitPolicy} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := on.Admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue}); err != nil {
			return nil, err
		}
		for i := range list.Items {
			policy := &list.Items[i]
			verdict, err := verdictOn(policy)
			if err != nil {
				return nil, err
			}
			out[fmt.Sprintf("%s %s", kind.Kind, client.ObjectKeyFromObject(policy))] = verdict
		}
	}
	return out, nil
}

// verdictOn is what the status of a policy comes to.
func verdictOn(policy *unstructured.Unstructured) (string, error) {
	observed, _, err := unstructured.NestedInt64(policy.Object, "status", "observedGeneration")
	if err != nil {
		return "", err
	}
	if observed != policy.GetGeneration() {
		return "not judged yet", nil
	}
	conditions, err := status.Conditions(policy)
	if err != nil {
		return "", err
	}
	verdict := ""
	for _, kind := range []string{"Accepted", "Enforced"} {
		switch c := meta.FindStatusCondition(conditions, kind); {
		case c == nil:
			verdict += " without " + kind
		case c.Status == "True":
			verdict += " " + kind
		default:
			message, _, _ := strings.Cut(c.Message, " by ") // Whoever it names there.
			verdict += fmt.Sprintf(" not %s: %s: %s", kind, c.Reason, message)
		}
	}
	return verdict[1:], nil
}
