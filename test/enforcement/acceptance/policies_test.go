// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"

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

// enforced is the verdict on a policy that Kuadrant has carried out as it is now.
const enforced = "Accepted Enforced"

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
				Eventually(on.verdicts(ctx)).Should(Equal(ofTenants()))
			})

			It("accepts and enforces the policies of models", func(ctx SpecContext) {
				on.furnish(ctx)
				want := ofTenants()
				for _, model := range []types.NamespacedName{granite, free, mistral} {
					want["AuthPolicy "+model.Namespace+"/maas-auth-"+model.Name] = enforced
					want["TokenRateLimitPolicy "+model.Namespace+"/maas-trlp-"+model.Name] = enforced
				}
				Eventually(on.verdicts(ctx)).Should(Equal(want))
			})

			It("generates the same from them as ever", func(ctx SpecContext) {
				on.compare(ctx, p)
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
		want["TokenRateLimitPolicy "+stage.GatewayNamespace+"/"+names.GatewayDefaultDeny()] = enforced
	}
	return want
}

// verdicts are what Kuadrant says of every generated policy.
func (on *installation) verdicts(ctx context.Context) func() (map[string]string, error) {
	return func() (map[string]string, error) {
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
			verdict += fmt.Sprintf(" not %s: %s: %s", kind, c.Reason, c.Message)
		}
	}
	return verdict[1:], nil
}
