// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	inferencev1alpha1 "github.com/opendatahub-io/maas-operator/api/inference/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// A model of the messages format takes API keys in x-api-key, which is also where its
// provider expects one: there must be the provider's, and no other.
var _ = Describe("A model of a provider that the inference group describes", Serial, func() {
	It("is governed like others, and its provider learns no credential in either header", func(ctx SpecContext) {
		const subscription = "messages"
		mistral := model{key: named("mistral").key, target: named("mistral").target, prefix: "/" + named("mistral").key.String()}
		Expect(on.Create(ctx, append(described(mistral),
			builder.AuthPolicy(at.tenant.Namespace, mistral.key.Name, mistral.key).Subjects([]string{guests}, nil).Obj(),
			builder.Subscription(at.tenant.Namespace, subscription).Owners([]string{guests}, nil).Limit(mistral.key, 1_000_000, "1m").Obj(),
		)...)).To(Succeed())
		guest := at.credentials["a guest's token"]
		byPath := mistral.ways()["by its path"]
		Expect(on.AwaitServed(ctx, byPath.ask(world.Bearer(guest)...))).To(Succeed())
		key := keyOf(ctx, guest, subscription)

		for what, headers := range map[string][]world.Header{
			"a token": world.Bearer(guest), "a key": world.Bearer(key), "a key in a header of its own": world.Headers("X-Api-Key", key),
		} {
			answer := send(ctx, byPath.ask(headers...))
			Expect(answer.Status).To(Equal(http.StatusOK), what+": "+answer.String())
			Expect(answer.Reached.ServerName).To(Equal(world.ProviderHost), what)
			Expect(answer.Reached.Path).To(Equal(mistral.prefix+"/v1/chat/completions"), what)
			Expect(answer.Reached.Header.Values("X-Api-Key")).To(Equal([]string{anthropicKey}), what)
			Expect(answer.Reached.Header.Values("Authorization")).To(Equal([]string{""}), what)
			keepsToItself(answer, guest, "wanda")
			keepsToItself(answer, key, "wanda")
			Expect(reported(answer)).To(Equal([]uint64{cost}), what)
		}
		for _, way := range mistral.ways() {
			turnedAway(send(ctx, way.ask()), http.StatusUnauthorized)
			turnedAway(send(ctx, way.ask(world.Bearer(at.credentials["a token of the provider"])...)), http.StatusForbidden)
		}
	}, SpecTimeout(specTimeout))
})

// described are a model and its provider, as an administrator describes them.
func described(m model) []client.Object {
	external := builder.InferenceExternalModel(m.key.Namespace, m.key.Name)
	external.Spec.ModelName = m.target
	external.Spec.ExternalProviderRefs[0].APIFormat, external.Spec.ExternalProviderRefs[0].Path = "messages", "/v1/messages"
	secret := m.secret(anthropicKey)
	provider := &inferencev1alpha1.ExternalProvider{ObjectMeta: metav1.ObjectMeta{Namespace: m.key.Namespace, Name: external.Spec.ExternalProviderRefs[0].Ref.Name}}
	provider.Spec.Provider, provider.Spec.Endpoint = "anthropic", world.ProviderHost
	provider.Spec.Auth = inferencev1alpha1.ProviderAuth{Type: inferencev1alpha1.AuthTypeAPIKey, SecretRef: inferencev1alpha1.LocalReference{Name: secret.Name}}
	return []client.Object{secret, provider, external, m.publication()}
}

// keyOf makes an API key that is bound to a subscription.
func keyOf(ctx context.Context, token, subscription string) string {
	GinkgoHelper()
	created, err := at.tenant.NewKey(ctx, token, service.CreateKey{Name: "of a guest", Subscription: subscription})
	Expect(err).NotTo(HaveOccurred())
	return created.Key
}
