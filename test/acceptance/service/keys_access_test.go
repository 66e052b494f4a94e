// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
)

const notFoundBody = `{"error":"API key not found"}`

var _ = Describe("A key", func() {
	It("is shown to its owner and to administrators, and does not exist for others (E-46)", func(ctx SpecContext) {
		owner, name := member()
		boss, _ := admin(ctx)
		key := must(owner.Create(ctx, service.CreateKey{Name: "mine", Description: "batch\njobs", Labels: map[string]string{"team": "search"}}))
		want := service.Key{
			ID: key.ID, Name: "mine", Description: "batch\njobs", Username: name, Subscription: commonName, Tenant: service.Tenant,
			Groups: []string{"system:authenticated", commonGroup}, CreationDate: key.CreatedAt, ExpirationDate: key.ExpiresAt,
			Status: "active", Labels: map[string]string{"team": "search"},
		}
		Expect(must(owner.Get(ctx, key.ID))).To(Equal(want), "with the groups (W-16 fixed)")
		Expect(must(boss.Get(ctx, key.ID))).To(Equal(want))
		foreign, _ := member()
		for _, path := range []string{key.ID, unique("missing"), "%00", strings.Repeat("x", 300)} {
			Expect(get(ctx, foreign, keysPath+"/"+path)).To(exactly(http.StatusNotFound, notFoundBody))
			Expect(do(ctx, foreign, http.MethodDelete, keysPath+"/"+path, nil)).To(exactly(http.StatusNotFound, notFoundBody))
		}
		Expect(get(ctx, boss, keysPath+"/"+unique("missing"))).To(exactly(http.StatusNotFound, notFoundBody))
		Expect(must(owner.Get(ctx, key.ID)).Status).To(Equal("active"), "the stranger revoked nothing")
	})

	It("of another tenant does not exist, even for a user of the same name and for administrators (E-47, E-59, E-69, E-76)", func(ctx SpecContext) {
		owner, name := member()
		key := newKey(ctx, owner)
		boss := unique("boss")
		appoint(ctx, boss, name)
		for _, there := range []service.Client{stranger.Client().As(name, commonGroup), stranger.Client().As(boss)} {
			Expect(get(ctx, there, keysPath+"/"+key.ID)).To(exactly(http.StatusNotFound, notFoundBody))
			Expect(do(ctx, there, http.MethodDelete, keysPath+"/"+key.ID, nil)).To(exactly(http.StatusNotFound, notFoundBody))
			Expect(must(there.Search(ctx, map[string]any{"filters": map[string]any{"username": name}})).Data).To(BeEmpty())
			Expect(must(there.BulkRevoke(ctx, map[string]any{"username": name})).Count).To(BeZero())
			Expect(get(ctx, there.With("X-MaaS-Tenant", service.Tenant), keysPath+"/"+key.ID)).To(exactly(http.StatusNotFound, notFoundBody))
		}
		Expect(must(owner.Get(ctx, key.ID)).Status).To(Equal("active"))
	})

	It("is revoked by its owner or an administrator, once (E-49)", func(ctx SpecContext) {
		owner, _ := member()
		boss, _ := admin(ctx)
		for _, who := range []service.Client{owner, boss} {
			key := newKey(ctx, owner)
			Expect(must(who.Revoke(ctx, key.ID))).To(And(HaveField("Status", "revoked"), HaveField("ID", key.ID)))
			Expect(do(ctx, who, http.MethodDelete, keysPath+"/"+key.ID, nil)).To(exactly(http.StatusNotFound, notFoundBody))
			Expect(must(owner.Get(ctx, key.ID)).Status).To(Equal("revoked"))
		}
	})

	It("past its expiry can be revoked as long as nobody noted the expiry (E-50)", func(ctx SpecContext) {
		owner, name := member()
		noted, _ := foundKey(ctx, stored{user: name, status: "expired", expires: "-1 hour"})
		unnoted, _ := foundKey(ctx, stored{user: name, expires: "-1 hour"})
		never, _ := foundKey(ctx, stored{user: name})
		Expect(must(owner.Get(ctx, unnoted)).Status).To(Equal("expired"))
		Expect(must(owner.Get(ctx, never))).To(And(HaveField("Status", "active"), HaveField("ExpirationDate", "")))
		Expect(do(ctx, owner, http.MethodDelete, keysPath+"/"+noted, nil)).To(exactly(http.StatusNotFound, notFoundBody))
		Expect(must(owner.Revoke(ctx, unnoted)).Status).To(Equal("revoked"))
	})

	It("named search is looked for under the wrong verb (E-52)", func(ctx SpecContext) {
		owner, _ := member()
		Expect(get(ctx, owner, keysPath+"/search")).To(exactly(http.StatusNotFound, notFoundBody))
	})
})
