// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"encoding/json"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

var _ = Describe("A model of a provider", func() {
	for how, way := range named("gpt").ways() {
		Describe("that is asked for "+how, func() {
			for who, user := range map[string]string{
				"a token of the provider": "olga", "an API key": "olga", "a token of the cluster": "system:serviceaccount:team:agent",
			} {
				It("serves who has "+who, func(ctx SpecContext) {
					credential := at.credentials[who]
					answer := send(ctx, way.ask(world.Bearer(credential)...))
					Expect(answer.Status).To(Equal(http.StatusOK), answer.String)
					Expect(answer.Reached).NotTo(BeNil())
					Expect(answer.Reached.ServerName).To(Equal(world.ProviderHost), "over TLS")
					Expect(answer.Reached.Host).To(Equal(world.ProviderHost))
					Expect(answer.Reached.Path).To(Equal(at.gpt.prefix + "/v1/chat/completions"))
					Expect(answer.Reached.Body).To(Equal(question))
					Expect(answer.Reached.Header.Values("Authorization")).To(Equal([]string{"Bearer " + openaiKey}))
					keepsToItself(answer, credential, user)
					Expect(answer.Decision.Identity()).To(HaveKeyWithValue("userid", user))
					Expect(reported(answer)).To(Equal([]uint64{cost}))
				}, SpecTimeout(specTimeout))
			}
			for who, status := range map[string]int{
				"no credential of ours": http.StatusUnauthorized, "an API key that nobody was given": http.StatusForbidden,
				"a revoked API key": http.StatusForbidden, "a token of another tenant": http.StatusUnauthorized,
				"a guest's token": http.StatusForbidden, "a token of who does not pay": http.StatusForbidden,
			} {
				It("refuses who has "+who, func(ctx SpecContext) {
					turnedAway(send(ctx, way.ask(world.Bearer(at.credentials[who])...)), status)
				}, SpecTimeout(specTimeout))
			}
			It("refuses who has none", func(ctx SpecContext) {
				turnedAway(send(ctx, way.ask()), http.StatusUnauthorized)
			}, SpecTimeout(specTimeout))
			It("refuses who claims to be somebody, or to have the key of the provider", func(ctx SpecContext) {
				turnedAway(send(ctx, way.ask(world.Headers("X-MaaS-Username", "olga", "X-MaaS-Group", `["staff"]`)...)), http.StatusUnauthorized)
				turnedAway(send(ctx, way.ask(append(world.Headers("X-MaaS-Username", "root"), world.Bearer(at.credentials["a token of the provider"])...)...)), http.StatusForbidden)
				turnedAway(send(ctx, way.ask(world.Bearer(openaiKey)...)), http.StatusUnauthorized)
			}, SpecTimeout(specTimeout))
		})
	}

	It("counts what the provider says that it cost, both ways together, and refuses who has spent it", func(ctx SpecContext) {
		few := world.Bearer(at.credentials["a token of one of the few"])
		byPath, byHeader := at.gpt.ways()["by its path"], at.gpt.ways()["by a header with its name"]
		for _, way := range []way{byPath, byHeader, byPath} { // 5 and 10 of 12 are room for one more.
			answer := send(ctx, way.ask(few...))
			Expect(answer.Status).To(Equal(http.StatusOK), answer.String)
			Expect(reported(answer)).To(Equal([]uint64{cost}))
		}
		turnedAway(send(ctx, byPath.ask(few...)), http.StatusTooManyRequests)
		turnedAway(send(ctx, byHeader.ask(few...)), http.StatusTooManyRequests)
	}, SpecTimeout(specTimeout))

	It("gets the key of its own, in the style of its provider, and nothing of the client's", func(ctx SpecContext) {
		credential := at.credentials["a guest's token"]
		for how, way := range at.claude.ways() {
			answer := send(ctx, way.ask(world.Bearer(credential)...))
			Expect(answer.Status).To(Equal(http.StatusOK), how+": "+answer.String())
			Expect(answer.Reached.Path).To(Equal(at.claude.prefix+"/v1/chat/completions"), how)
			Expect(answer.Reached.Header.Values("X-Api-Key")).To(Equal([]string{anthropicKey}), how)
			keepsToItself(answer, credential, "wanda")
		}
	}, SpecTimeout(specTimeout))

	It("is not reached by who names it and asks for another one, which decides", func(ctx SpecContext) {
		guest, olga := world.Bearer(at.credentials["a guest's token"]), world.Bearer(at.credentials["a token of the provider"])
		both := way{path: at.gpt.ways()["by its path"].path, headers: world.Headers(modelHeader, at.claude.target)}
		turnedAway(send(ctx, both.ask(guest...)), http.StatusForbidden)
		answer := send(ctx, both.ask(olga...))
		Expect(answer.Status).To(Equal(http.StatusOK), answer.String)
		Expect(answer.Reached.Path).To(HavePrefix(at.gpt.prefix))
	}, SpecTimeout(specTimeout))
})

// send sends a request.
func send(ctx SpecContext, r world.Request) world.Answer {
	GinkgoHelper()
	answer, err := on.Do(ctx, r)
	Expect(err).NotTo(HaveOccurred())
	return answer
}

// turnedAway holds for a request that did not get to the provider.
func turnedAway(answer world.Answer, status int) {
	GinkgoHelper()
	Expect(answer.Status).To(Equal(status), answer.String)
	Expect(answer.Reached).To(BeNil(), answer.String)
	Expect(text(answer.Body, answer.Header)).NotTo(Or(ContainSubstring(openaiKey), ContainSubstring(anthropicKey)))
}

// keepsToItself holds when the provider learns nothing of who asks, and the client nothing
// of the provider's key.
func keepsToItself(answer world.Answer, credential, user string) {
	GinkgoHelper()
	seen := text(answer.Reached.Path, answer.Reached.Header, answer.Reached.Body)
	Expect(seen).NotTo(ContainSubstring(credential), "the client's credential")
	Expect(seen).NotTo(ContainSubstring(user), "the client's name")
	for name := range answer.Reached.Header {
		if !strings.EqualFold(name, "X-MaaS-Subscription") { // Metrics read it after the reply.
			Expect(strings.ToLower(name)).NotTo(HavePrefix("x-maas-"))
		}
	}
	Expect(text(answer.Body, answer.Header)).NotTo(Or(ContainSubstring(openaiKey), ContainSubstring(anthropicKey)))
}

func text(all ...any) string {
	GinkgoHelper()
	out, err := json.Marshal(all)
	Expect(err).NotTo(HaveOccurred())
	return string(out)
}

// reported is what was counted for a request, by limit.
func reported(answer world.Answer) []uint64 {
	var hits []uint64
	for _, step := range answer.Decision.StepsOf("ratelimit-report") {
		if step.Result == "reported" {
			hits = append(hits, step.Hits)
		}
	}
	return hits
}
