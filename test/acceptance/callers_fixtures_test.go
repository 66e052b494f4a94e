// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"errors"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/internal/enforced"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// Credentials, and who stands behind them.
const (
	apiKey      = "sk-oai-abc123"
	otherKey    = "sk-oai-other"
	jwtToken    = "aaa.bbb.ccc"
	opaqueToken = "sha256~opaque"
	providerURL = "https://idp.example.com/realms/maas"
	clientID    = "maas-client"
)

func bearer(credential string) map[string]any {
	return map[string]any{"authorization": "Bearer " + credential}
}

// claimsOf are those of a token that the tenant's provider issued to its client.
func claimsOf(username string, groups ...any) map[string]any {
	return map[string]any{"iss": providerURL, "sub": "subject-of-" + username, "preferred_username": username, "azp": clientID, "groups": groups}
}

// reviewOf is what the cluster says of a token: everybody it knows is a member of one
// group.
func reviewOf(username string, groups ...any) map[string]any {
	groups = append(slices.Clone(groups), "system:authenticated")
	return map[string]any{"authenticated": true, "user": map[string]any{"username": username, "uid": "uid-of-" + username, "groups": groups}}
}

// validKey is the reply about a key of a user.
func validKey(username, subscription string, groups ...any) func(map[string]any) any {
	return replies(map[string]any{
		"valid": true, "userId": "id-of-" + username, "username": username, "keyId": "k-1", "keyName": "laptop", "groups": groups, "subscription": subscription,
	})
}

func replies(reply any) func(map[string]any) any { return func(map[string]any) any { return reply } }

// token is a request of a user of the cluster.
func token(username string, groups ...any) enforced.Request {
	return enforced.Request{Headers: bearer(opaqueToken), Review: reviewOf(username, groups...)}
}

// asking is a request with what maas-api answers about subscriptions: what the
// code decides that it shares with the operator, from the objects which the API
// server holds. The tenant is the default one.
func (w world) asking(r enforced.Request) enforced.Request {
	r.Selected = func(body map[string]any) any {
		GinkgoHelper()
		selection, err := w.index().Select(w.caller(body), entitlement.Request{
			Model: body["requestedModel"].(string), Subscription: body["requestedSubscription"].(string),
		})
		if refusal := (entitlement.Refusal{}); errors.As(err, &refusal) {
			return map[string]any{"error": string(refusal.Code), "message": refusal.Message}
		}
		Expect(err).NotTo(HaveOccurred())
		return map[string]any{
			"name": selection.Subscription.Name, "namespace": selection.Subscription.Namespace, "phase": string(selection.Subscription.Status.Phase),
			"subscriptionId": selection.ID, "resolvedModel": selection.Model.String(), "accessAllowed": selection.AccessAllowed,
		}
	}
	return r
}

func (world) caller(body map[string]any) entitlement.Caller {
	GinkgoHelper()
	var groups []string
	for _, group := range body["groups"].([]any) {
		groups = append(groups, group.(string))
	}
	caller, err := entitlement.FromToken(body["username"].(string), groups)
	Expect(err).NotTo(HaveOccurred())
	return caller
}

// index is of the default tenant and of the models of this corner.
func (w world) index() *entitlement.Index {
	GinkgoHelper()
	var (
		models        v1alpha1.MaaSModelRefList
		policies      v1alpha1.MaaSAuthPolicyList
		subscriptions v1alpha1.MaaSSubscriptionList
		facts         entitlement.Facts
	)
	Expect(on.Admin.List(w.ctx, &models, client.InNamespace(w.namespace))).To(Succeed())
	Expect(on.Admin.List(w.ctx, &policies, client.InNamespace(stage.TenantNamespace))).To(Succeed())
	Expect(on.Admin.List(w.ctx, &subscriptions, client.InNamespace(stage.TenantNamespace))).To(Succeed())
	for i := range models.Items {
		facts.Models = append(facts.Models, entitlement.Tenanted[*v1alpha1.MaaSModelRef]{Object: &models.Items[i], Tenant: v1alpha1.DefaultAITenantName})
	}
	for i := range policies.Items {
		facts.AuthPolicies = append(facts.AuthPolicies, entitlement.Tenanted[*v1alpha1.MaaSAuthPolicy]{Object: &policies.Items[i], Tenant: v1alpha1.DefaultAITenantName})
	}
	for i := range subscriptions.Items {
		facts.Subscriptions = append(facts.Subscriptions, entitlement.Tenanted[*v1alpha1.MaaSSubscription]{Object: &subscriptions.Items[i], Tenant: v1alpha1.DefaultAITenantName})
	}
	return entitlement.NewIndex(v1alpha1.DefaultAITenantName, facts)
}

// openToAll publishes a model that accepts every kind of credential: its tenant
// has an OpenID Connect provider, and its own provider takes messages.
func (w world) openToAll() (types.NamespacedName, *tenant) {
	GinkgoHelper()
	red := w.tenant("red")
	w.edit(red.registry, func() {
		red.registry.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: providerURL, ClientID: clientID}
	})
	external := builder.InferenceExternalModel(w.namespace, "gpt")
	external.Spec.ExternalProviderRefs[0].APIFormat = "messages"
	model := builder.ModelRef(w.namespace, "gpt").Backend(v1alpha1.BackendExternalModel, "gpt").Tenant(red.Name).Obj()
	w.create(external, w.externalRoute("maas-gpt").Below(red.Gateway).Hostnames(red.host).Obj(), model)
	w.routedBy(external, "maas-gpt")
	policy, paid := red.pair(red.Namespace(), model)
	Eventually(w.phase(policy)).Should(Equal(v1alpha1.PhaseActive))
	Eventually(w.phase(paid)).Should(Equal(v1alpha1.PhaseActive))
	gpt := client.ObjectKeyFromObject(model)
	Eventually(w.authenticators(gpt)).Should(ConsistOf("api-keys", "api-keys-x-api-key", "oidc-identities", "openshift-identities"))
	return gpt, red
}

// authenticators are those of a model's AuthPolicy, for Eventually.
func (w world) authenticators(model types.NamespacedName) func() []string {
	return func() []string {
		GinkgoHelper()
		if w.authPolicyOf(model) == nil {
			return nil
		}
		return w.gateway(model).Section("authentication")
	}
}

// goldReply is the reply about a subscription that may be used.
func goldReply(model types.NamespacedName) map[string]any {
	return map[string]any{
		"name": "gold", "namespace": "red", "phase": "Active", "accessAllowed": true, "resolvedModel": model.String(), "subscriptionId": "0123456789abcdef",
	}
}
