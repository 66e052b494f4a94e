// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	bulkPath    = keysPath + "/bulk-revoke"
	cleanupPath = "/internal/v1/api-keys/cleanup"
)

func tenantPath(tenant string) string { return "/internal/v1/tenants/" + tenant + "/api-keys" }

// active counts the keys that are stored as active.
func active(ctx SpecContext, user string) int {
	GinkgoHelper()
	return count(ctx, `SELECT count(*) FROM api_keys WHERE username = $1 AND status = 'active'`, user)
}

var _ = Describe("Revocation of many keys", func() {
	It("needs to be told which (E-65, E-70)", func(ctx SpecContext) {
		owner, _ := member()
		for _, body := range []string{`{}`, `{"dryRun":true}`, `{"username":"  ","subscription":"\t"}`} {
			Expect(post(ctx, owner, bulkPath, body)).To(exactly(http.StatusBadRequest, `{"error":"at least one of username or subscription is required"}`))
		}
		Expect(post(ctx, owner, bulkPath, ``)).To(answer(http.StatusBadRequest, "empty"))
	})

	It("is for everybody's own keys, and for administrators beyond that (E-65, E-68)", func(ctx SpecContext) {
		owner, name := member()
		boss, _ := admin(ctx)
		newKey(ctx, owner)
		must(owner.Create(ctx, service.CreateKey{Ephemeral: true}))
		foundKey(ctx, stored{user: name})
		foundKey(ctx, stored{user: name, expires: "-1 hour"})
		denied := exactly(http.StatusForbidden, `{"error":"Access denied: admin privileges required for this bulk revoke operation"}`)
		_, other := member()
		Expect(post(ctx, owner, bulkPath, object{"username": other})).To(denied)
		Expect(post(ctx, owner, bulkPath, object{"subscription": commonName})).To(denied)
		Expect(post(ctx, owner, bulkPath, object{"username": name, "subscription": commonName})).To(denied)
		Expect(post(ctx, owner, bulkPath, object{"username": other, "dryRun": true})).To(denied)

		Expect(post(ctx, owner, bulkPath, object{"username": name})).
			To(exactly(http.StatusOK, `{"revokedCount":3,"message":`+quoted("Successfully revoked 3 active API key(s) for user "+name)+`}`))
		Expect(must(owner.BulkRevoke(ctx, object{"username": name})).Count).To(BeZero())
		Expect(active(ctx, name)).To(Equal(1), "the one past its expiry stays as it is")
		key := newKey(ctx, owner)
		Expect(must(boss.BulkRevoke(ctx, object{"username": " " + name + " "})).Count).To(BeEquivalentTo(1))
		Expect(reasonOf(ctx, api, key.Key)).To(Equal("key revoked or expired"))
	})

	It("of a subscription is about all its users, and of both about what is common; a rehearsal changes nothing (E-66, E-67, A79)", func(ctx SpecContext) {
		group, name := unique("bulk"), unique("bulk")
		settled(ctx, builder.Subscription(service.Tenant, name).Owners([]string{group}, nil).Unlimited(commonModel).Phase(v1alpha1.PhaseActive).Obj())
		boss, _ := admin(ctx)
		var users []string
		for range 2 {
			user := unique("owner")
			users = append(users, user)
			owner := api.Client().As(user, group, commonGroup)
			for _, subscription := range []string{name, name, commonName} {
				must(owner.Create(ctx, service.CreateKey{Name: "x", Subscription: subscription}))
			}
		}
		for _, rehearsal := range []struct {
			body object
			want int
			text string
		}{
			{object{"subscription": name}, 4, "subscription " + name},
			{object{"username": users[0], "subscription": name}, 2, "user " + users[0] + " in subscription " + name},
			{object{"username": users[0]}, 3, "user " + users[0]},
		} {
			rehearsal.body["dryRun"] = true
			Expect(must(boss.BulkRevoke(ctx, rehearsal.body))).To(Equal(service.Revoked{
				Count: int64(rehearsal.want), DryRun: true,
				Message: fmt.Sprintf("Dry run: %d active key(s) would be revoked for %s", rehearsal.want, rehearsal.text),
			}))
		}
		Expect(must(boss.BulkRevoke(ctx, object{"username": users[0], "subscription": name})).Count).To(BeEquivalentTo(2))
		Expect(must(boss.BulkRevoke(ctx, object{"subscription": name})).Count).To(BeEquivalentTo(2), "those of the other user")
		Expect([]int{active(ctx, users[0]), active(ctx, users[1])}).To(Equal([]int{1, 1}), "keys of another subscription stay")
	})
})

var _ = Describe("The cleanup job", func() {
	It("deletes ephemeral keys half an hour after their expiry, and nothing else (E-72)", func(ctx SpecContext) {
		user := unique("owner")
		for _, s := range []stored{
			{ephemeral: true, expires: "-1 hour"},
			{ephemeral: true, expires: "-2 hours", status: "revoked"},
			{ephemeral: true, expires: "-10 minutes"},
			{ephemeral: true, expires: "1 hour"},
			{expires: "-2 hours"},
			{ephemeral: true, expires: "-2 hours", tenant: strangerTenant},
		} {
			s.user = user
			foundKey(ctx, s)
		}
		Expect(post(ctx, api.Client(), cleanupPath, nil)).To(answer(http.StatusOK, `"deletedCount":2`, "Successfully deleted 2 expired ephemeral key(s)"))
		Expect(post(ctx, api.Client(), cleanupPath, nil)).To(exactly(http.StatusOK, `{"deletedCount":0,"message":"Successfully deleted 0 expired ephemeral key(s)"}`))
		Expect(count(ctx, `SELECT count(*) FROM api_keys WHERE username = $1`, user)).To(Equal(4), "another tenant's too")
	})
})

var _ = Describe("The revocation of a tenant", func() {
	It("revokes that tenant's keys only, starts their retention, and may be repeated (E-71)", func(ctx SpecContext) {
		owner, _ := member()
		ours := newKey(ctx, owner)
		user := unique("owner")
		_, theirs := foundKey(ctx, stored{user: user, tenant: strangerTenant})
		foundKey(ctx, stored{user: user, expires: "-1 day", tenant: strangerTenant})
		revoke := func() service.Response {
			return do(ctx, stranger.Client(), http.MethodDelete, tenantPath(strangerTenant), nil)
		}
		Expect(verdict(ctx, stranger, theirs).Valid).To(BeTrue())
		before := count(ctx, `SELECT count(*) FROM api_keys WHERE tenant = $1 AND status = 'active'`, strangerTenant)
		Expect(revoke()).To(answer(http.StatusOK, fmt.Sprintf(`"revokedCount":%d,`, before), "for tenant "+strangerTenant))
		Expect(revoke()).To(answer(http.StatusOK, `"revokedCount":0,`))
		Expect(reasonOf(ctx, stranger, theirs)).To(Equal("key revoked or expired"))
		Expect(verdict(ctx, api, ours.Key).Valid).To(BeTrue())
		Expect(count(ctx, `SELECT count(*) FROM api_keys WHERE username = $1 AND purge_after > now() + interval '89 days'`, user)).To(Equal(2))
	})

	It("is of this process's tenant or not at all, and another name is not repeated (E-71)", func(ctx SpecContext) {
		Expect(do(ctx, api.Client(), http.MethodDelete, tenantPath("somebody-elses"), nil)).To(exactly(http.StatusBadRequest, `{"error":"tenant mismatch"}`))
		Expect(do(ctx, api.Client(), http.MethodDelete, tenantPath("%20"), nil)).To(exactly(http.StatusBadRequest, `{"error":"tenant is required"}`))
	})

	It("lets cleanup delete the keys of a tenant once their retention is over (purge)", func(ctx SpecContext) {
		user := unique("owner")
		for _, row := range []string{"due", "kept"} {
			foundKey(ctx, stored{name: row, user: user, status: "revoked", tenant: unique("gone")})
		}
		execute(ctx, `UPDATE api_keys SET invalidated_at = now(), purge_after = now() + CASE name WHEN 'due' THEN interval '-1 second' ELSE interval '1 day' END WHERE username = $1`, user)
		Expect(post(ctx, api.Client(), cleanupPath, nil)).To(answer(http.StatusOK))
		Expect(count(ctx, `SELECT count(*) FROM api_keys WHERE username = $1`, user)).To(Equal(1))
	})
})
