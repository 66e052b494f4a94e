// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// exempting is about paths: the list of models is free, and nothing else is.
func exempting() {
	g := NewGomega(Fail)
	BeforeEach(func(ctx SpecContext) { afresh(ctx, g) })

	It("never counts the lists of models, nor refuses them", func(ctx SpecContext) {
		alice := at.at(at.chat, at.alice.by(small))
		lists := map[string]world.Request{
			"the model's own":                alice.list(),
			"the model's own with a query":   {Tenant: at.tenant, Path: at.chat.Path() + "/v1/models?x=1", Headers: alice.headers},
			"the tenant's":                   {Tenant: at.tenant, Path: "/v1/models", Headers: alice.headers},
			"the tenant's by its other path": {Tenant: at.tenant, Path: "/maas-api/v1/models", Headers: alice.headers},
		}
		look := func() {
			for what, request := range lists {
				answer := send(ctx, g, request)
				Expect(answer.Status).To(Equal(http.StatusOK), what+": "+answer.String())
				Expect(limitsOf(answer.Decision)).To(BeEmpty(), what)
			}
		}
		look()
		Expect(at.tenant.Counters(ctx)).To(BeEmpty())
		exhaust(ctx, g, alice, 20)
		look()
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{21}))
	}, SpecTimeout(specTimeout))

	for _, path := range []string{
		"/v1/chat/completions?x=/v1/models", "/v1/chat/completions?/v1/models", "/v1/chat/completions?a=b&c=/v1/models",
		"/v1/models/../chat/completions", "/v1/models/%2e%2e/chat/completions", "/v1/models%2f..%2fchat/completions",
		"/v1/chat/completions/../../v1/models/../chat/completions", "/v1/chat/completions/v1/models", "/v1/chat/completions//v1/models",
		"/v1/chat/completions;/v1/models", "/v1/chat/completions;x=/v1/models", "/v1/chat/completions/..;/v1/models",
		"/v1/chat/completions%2fv1%2fmodels", "/v1/chat/completions%3f/v1/models", "/v1/chat/completions%23/v1/models",
		"/v1/chat/completions%00/v1/models", "/v1/chat/completions\\..\\/v1/models", "/v1/chat/completions/%2e%2e/%2e%2e/v1/models",
		"//v1/chat/completions", "/v1//chat/completions", "/v1/./chat/completions", "/v1/chat/completions/", "/v1/completions?x=/v1/models",
	} {
		It("counts what it costs, or refuses: "+path+" (B11)", func(ctx SpecContext) {
			alice := at.at(at.chat, at.alice.by(small))
			disguised := alice.chat(1)
			disguised.Path = at.chat.Path() + path
			answer := send(ctx, g, disguised)
			spent := uint64(0)
			for _, value := range counted(ctx, g, alice) {
				spent += value
			}
			Expect(spent).To(BeNumerically(">=", answer.tokens), answer.String)
			for spent <= 20 {
				spent += served(ctx, g, alice.chat(1))
			}
			Expect(send(ctx, g, disguised).tokens).To(BeZero())
		}, SpecTimeout(specTimeout))
	}
}
