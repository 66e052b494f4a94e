// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
)

const validatePath = "/internal/v1/api-keys/validate"

// A key of an earlier release, and what that release stored of it.
const (
	earlierKey  = "sk-oai-testKeyID123_testSecretValue456"
	earlierHash = "808d67492d1cb86b9e6f9c07a5db95803242782483b50f0dcab17f1f74a8a469"
)

// hashOf is what is stored of a key.
func hashOf(key string) string {
	id, secret, _ := strings.Cut(strings.TrimPrefix(key, "sk-oai-"), "_")
	sum := sha256.Sum256([]byte(id + "\x00" + secret))
	return hex.EncodeToString(sum[:])
}

// unknownKey has the form of a key.
func unknownKey() string {
	return "sk-oai-" + strings.ReplaceAll(unique("found"), "-", "") + "_" + strings.ReplaceAll(unique("secret"), "-", "")
}

// foundKey is a row that a spec wrote itself: its id, and the text of its key.
func foundKey(ctx SpecContext, s stored) (id, text string) {
	GinkgoHelper()
	key := unknownKey()
	s.hash = hashOf(key)
	return store(ctx, s), key
}

var _ = Describe("Validation of a key", func() {
	It("says whose an active key is, and until when (E-7, W-8 fixed)", func(ctx SpecContext) {
		owner, name := member()
		key := must(owner.Create(ctx, service.CreateKey{Name: "mine"}))
		Expect(verdict(ctx, api, key.Key)).To(Equal(service.Verdict{
			Valid: true, UserID: key.ID, KeyID: key.ID, Username: name, KeyName: "mine", Subscription: commonName,
			Groups: []string{"system:authenticated", commonGroup}, Tenant: service.Tenant, ExpiresAt: key.ExpiresAt,
		}))
	})

	DescribeTable("tells what is no key by its form alone (E-4, E-5, E-8)", func(ctx SpecContext, key string) {
		Expect(post(ctx, api.Client(), validatePath, map[string]string{"key": key})).
			To(exactly(http.StatusOK, `{"valid":false,"tenant":"","reason":"invalid key format"}`))
	},
		Entry("random text", "invalid-key"),
		Entry("another prefix", "maas_short"),
		Entry("no separator", "sk-oai-noSeparatorHere"),
		Entry("no id", "sk-oai-_x"),
		Entry("no secret", "sk-oai-x_"),
		Entry("a hyphen", "sk-oai-a-b_c"),
		Entry("a second separator", "sk-oai-a_b_c"),
		Entry("a prefix in capitals", "SK-OAI-a_b"),
		Entry("a line break", "sk-oai-a_b\n"),
	)

	It("does not know a key that was never made (E-9)", func(ctx SpecContext) {
		Expect(post(ctx, api.Client(), validatePath, `{"key":"sk-oai-unknown_unknown"}`)).
			To(exactly(http.StatusOK, `{"valid":false,"tenant":"","reason":"key not found"}`))
	})

	It("refuses a revoked key here at once and on another replica soon, and discloses nothing (E-10, E-51, A78)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		Expect(verdict(ctx, peer, key.Key).Valid).To(BeTrue(), "made on one replica, used on another at once")
		must(owner.Revoke(ctx, key.ID))
		revoked := time.Now()
		Expect(post(ctx, api.Client(), validatePath, map[string]string{"key": key.Key})).
			To(exactly(http.StatusOK, `{"valid":false,"tenant":"","reason":"key revoked or expired"}`))
		Eventually(func() string { return reasonOf(ctx, peer, key.Key) }).WithTimeout(2 * time.Second).Should(Equal("key revoked or expired"))
		AddReportEntry("revocation on another replica", time.Since(revoked).String())
	})

	It("refuses a key past its expiry although it is stored as active, and shows it as expired (E-11, E-50, A61)", func(ctx SpecContext) {
		owner, name := member()
		id, key := foundKey(ctx, stored{user: name, expires: "-1 day"})
		Expect(reasonOf(ctx, api, key)).To(Equal("key revoked or expired"))
		Expect(must(owner.Get(ctx, id)).Status).To(Equal("expired"))
		active := must(owner.Search(ctx, map[string]any{"filters": map[string]any{"status": []string{"active"}}}))
		Expect(active.Data).To(BeEmpty())
	})

	It("refuses a key the moment it expires", func(ctx SpecContext) {
		owner, _ := member()
		key := must(owner.Create(ctx, service.CreateKey{Name: "short", ExpiresIn: "1s"}))
		Expect(verdict(ctx, api, key.Key).Valid).To(BeTrue())
		Eventually(func() string { return reasonOf(ctx, api, key.Key) }).WithTimeout(3 * time.Second).Should(Equal("key revoked or expired"))
	})

	DescribeTable("wants a key (E-12)", func(ctx SpecContext, body string) {
		Expect(post(ctx, api.Client(), validatePath, body)).To(exactly(http.StatusBadRequest, `{"error":"key is required"}`))
	},
		Entry("an empty object", `{}`), Entry("an empty body", ``), Entry("an empty key", `{"key":""}`),
		Entry("no JSON", `{"key`), Entry("a number", `{"key":7}`), Entry("a list", `["key"]`),
	)

	It("refuses a key that is bound to no subscription (E-13)", func(ctx SpecContext) {
		_, key := foundKey(ctx, stored{user: unique("owner"), subscription: unbound})
		Expect(reasonOf(ctx, api, key)).To(Equal("key has no subscription bound"))
	})

	It("sends an empty list for a key without groups, and a header made of it is accepted (E-14, W-12 fixed)", func(ctx SpecContext) {
		user := unique("owner")
		id, key := foundKey(ctx, stored{user: user})
		Expect(post(ctx, api.Client(), validatePath, map[string]string{"key": key})).To(answer(http.StatusOK, `"groups":[]`, `"valid":true`))
		groupless := api.Client().With(service.HeaderUsername, user).With(service.HeaderGroup, "[]")
		Expect(must(groupless.Get(ctx, id)).Groups).To(BeEmpty())
	})

	It("is not possible for a row whose id is no UUID, which stands for the caller (E-15)", func(ctx SpecContext) {
		_, key := foundKey(ctx, stored{id: unique("no-uuid"), user: unique("owner")})
		Expect(post(ctx, api.Client(), validatePath, object{"key": key})).To(exactly(http.StatusInternalServerError, `{"error":"validation failed"}`))
	})

	It("takes a key that an earlier release made (E-3)", func(ctx SpecContext) {
		user := unique("owner")
		store(ctx, stored{user: user, hash: earlierHash, groups: []string{"a", "b"}, expires: "1 day"})
		Eventually(func() service.Verdict { return verdict(ctx, api, earlierKey) }).Should(And(
			HaveField("Valid", true), HaveField("Username", user), HaveField("Groups", []string{"a", "b"})))
	})

	It("knows nothing of another tenant's keys in the same table (E-17)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		Expect(reasonOf(ctx, stranger, key.Key)).To(Equal("key not found"))
		_, theirs := foundKey(ctx, stored{user: unique("owner"), tenant: strangerTenant})
		Expect(reasonOf(ctx, api, theirs)).To(Equal("key not found"))
		Expect(verdict(ctx, stranger, theirs)).To(HaveField("Tenant", strangerTenant))
	})

	It("notes when a key was used, in one write for many uses (E-18, E-19, B42)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		Expect(must(owner.Get(ctx, key.ID)).LastUsedAt).To(BeEmpty())
		const uses = 10
		atOnce(uses, func(int) { verdict(ctx, api, key.Key) })
		Eventually(func() string { return must(owner.Get(ctx, key.ID)).LastUsedAt }).ShouldNot(BeEmpty())
		used := map[string]any{"filters": map[string]any{"hasBeenUsed": true}}
		Expect(must(owner.Search(ctx, used)).Data).To(HaveLen(1))
	})

	It("notes no use of a key that is refused", func(ctx SpecContext) {
		owner, name := member()
		id, refused := foundKey(ctx, stored{user: name, expires: "-1 day"})
		verdict(ctx, api, refused)
		good := newKey(ctx, owner)
		verdict(ctx, api, good.Key)
		Eventually(func() string { return must(owner.Get(ctx, good.ID)).LastUsedAt }).ShouldNot(BeEmpty(), "a later use was written")
		Expect(must(owner.Get(ctx, id)).LastUsedAt).To(BeEmpty())
	})

	It("counts verdicts under the tenant's name, refusals too (E-22, W-24 fixed)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		of := func(result string) float64 {
			return series(ctx, api, "maas_api_key_validation_total", `result="`+result+`"`, `tenant_name="`+service.Tenant+`"`)
		}
		valid, invalid := of("valid"), of("invalid")
		verdict(ctx, api, key.Key)
		verdict(ctx, api, "nonsense")
		post(ctx, api.Client(), validatePath, "{}")
		Expect(of("valid")).To(Equal(valid + 1))
		Expect(of("invalid")).To(Equal(invalid+1), "a request without a key is none of them")
	})
})
