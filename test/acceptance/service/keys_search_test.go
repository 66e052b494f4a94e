// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/contract"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const searchPath = keysPath + "/search"

// object is a part of a body.
type object map[string]any

// json is the object as it is sent.
func (o object) json() string {
	GinkgoHelper()
	return string(must(json.Marshal(o)))
}

// searched are the names of the keys that a client finds, in order.
func searched(ctx SpecContext, c service.Client, body object) []string {
	GinkgoHelper()
	return names(must(c.Search(ctx, body)).Data)
}

func filters(f object) object {
	return object{"filters": f, "sort": object{"by": "name", "order": "asc"}}
}

var _ = Describe("A search for keys", func() {
	It("finds the newest first, of every status, a page at a time, without ephemeral ones (E-53, E-64)", func(ctx SpecContext) {
		owner, name := member()
		const rows = 75
		execute(ctx, `INSERT INTO api_keys (id, username, name, key_hash, status, user_groups, created_at, ephemeral, subscription, tenant)
			SELECT $1 || n, $1, 'k' || lpad(n::text, 3, '0'), $1 || n, CASE WHEN n % 3 = 0 THEN 'revoked' ELSE 'active' END, '{}',
				now() - n * interval '1 minute', n > 75, $2, $3 FROM generate_series(1, 76) n`, name, commonName, service.Tenant)
		page := must(owner.Search(ctx, object{}))
		Expect(page.Data).To(HaveLen(50))
		Expect(page.HasMore).To(BeTrue())
		Expect(names(page.Data)[:4]).To(Equal([]string{"k001", "k002", "k003", "k004"}))
		small := must(owner.Search(ctx, object{"pagination": object{"limit": 10, "offset": 70}}))
		Expect(names(small.Data)).To(Equal([]string{"k071", "k072", "k073", "k074", "k075"}))
		Expect(small.HasMore).To(BeFalse())
		all := must(owner.Search(ctx, object{"pagination": object{"limit": 1000}}))
		Expect(all.Data).To(HaveLen(rows), "1000 counts as 100 (E-54)")
		Expect(must(owner.Search(ctx, object{"filters": object{"includeEphemeral": true}, "pagination": object{"limit": 100}})).Data).To(HaveLen(rows + 1))

		By("turning pages by cursor while keys are made (W-16 fixed)")
		var seen []string
		body := object{"pagination": object{"limit": 30}}
		for {
			page := must(owner.Search(ctx, body))
			seen = append(seen, names(page.Data)...)
			if !page.HasMore {
				Expect(page.NextCursor).To(BeEmpty())
				break
			}
			newKey(ctx, owner)
			body = object{"pagination": object{"limit": 30, "cursor": page.NextCursor}}
		}
		Expect(seen).To(Equal(names(all.Data)), "none twice, none left out")
	})

	DescribeTable("refuses what it does not understand (E-54, E-55, E-57, A64)", func(ctx SpecContext, body, want string) {
		owner, _ := member()
		Expect(post(ctx, owner, searchPath, body)).To(answer(http.StatusBadRequest, want))
	},
		Entry("no limit", `{"pagination":{"limit":0}}`, "pagination.limit must be at least 1"),
		Entry("an offset alone", `{"pagination":{"offset":10}}`, "pagination.limit must be at least 1"),
		Entry("a negative offset", `{"pagination":{"limit":1,"offset":-1}}`, "pagination.offset must be non-negative"),
		Entry("a status", `{"filters":{"status":["active","bogus"]}}`, "invalid status 'bogus': must be active, revoked, or expired"),
		Entry("a field to sort by", `{"sort":{"by":"name; DROP TABLE api_keys"}}`, "invalid sort.by: must be one of: created_at, expires_at, last_used_at, name"),
		Entry("an order", `{"sort":{"order":"asc; --"}}`, "invalid sort.order: must be asc or desc"),
		Entry("a cursor of nobody", `{"pagination":{"limit":1,"cursor":"bogus"}}`, "invalid pagination.cursor"),
		Entry("a label (E-61)", `{"filters":{"labelsContain":{"a b":"v"}}}`, "invalid characters"),
		Entry("a time", `{"filters":{"createdAfter":"yesterday"}}`, "invalid filters.createdAfter"),
		Entry("no object", `[]`, "wrong type"), Entry("no JSON", `{"filters"`, "no valid JSON"),
	)

	It("goes by the status of now (E-55)", func(ctx SpecContext) {
		owner, name := member()
		for _, s := range []stored{
			{name: "active", expires: "1 day"},
			{name: "revoked", status: "revoked", expires: "-1 day"},
			{name: "noted", status: "expired", expires: "-1 day"},
			{name: "unnoted", expires: "-1 day"},
		} {
			s.user = name
			foundKey(ctx, s)
		}
		of := func(statuses ...string) []string { return searched(ctx, owner, filters(object{"status": statuses})) }
		Expect(of("active")).To(Equal([]string{"active"}))
		Expect(of("revoked")).To(Equal([]string{"revoked"}))
		Expect(of("expired")).To(Equal([]string{"noted", "unnoted"}))
		Expect(of("active", "revoked", "expired")).To(HaveLen(4))
		Expect(of()).To(HaveLen(4))
	})

	It("goes by every filter there is, all at once (E-56, E-61, A79, W-16 fixed: nine did nothing)", func(ctx SpecContext) {
		user := unique("owner")
		owner := api.Client().As(user, commonGroup, specialGroup)
		create := func(k service.CreateKey) service.CreatedKey { return must(owner.Create(ctx, k)) }
		create(service.CreateKey{Name: "a-plain", Subscription: commonName})
		used := create(service.CreateKey{Name: "b-Used", Description: "nightly BATCH", Subscription: commonName, ExpiresIn: "1h"})
		create(service.CreateKey{Name: "c-labelled", Subscription: specialName, Labels: map[string]string{"team": "search", "env": "prod"}})
		create(service.CreateKey{Name: "d-labelled", Subscription: specialName, Labels: map[string]string{"team": "search"}})
		old, _ := foundKey(ctx, stored{name: "e-old", user: user})
		execute(ctx, `UPDATE api_keys SET created_at = now() - interval '10 days' WHERE id = $1`, old)
		verdict(ctx, api, used.Key)
		Eventually(func() string { return must(owner.Get(ctx, used.ID)).LastUsedAt }).ShouldNot(BeEmpty())

		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
		for _, search := range []struct {
			filters object
			want    string
		}{
			{object{"subscription": specialName}, "[c-labelled d-labelled]"},
			{object{"subscription": " no-such-thing "}, "[]"},
			{object{"labelsContain": object{"team": "search"}}, "[c-labelled d-labelled]"},
			{object{"labelsContain": object{"team": "search", "env": "prod"}}, "[c-labelled]"},
			{object{"labelsContain": object{"team": "other"}}, "[]"},
			{object{"createdAfter": at(-time.Hour), "subscription": commonName}, "[a-plain b-Used]"},
			{object{"createdBefore": at(-time.Hour)}, "[e-old]"},
			{object{"expiresBefore": at(2 * time.Hour)}, "[b-Used]"},
			{object{"expiresAfter": at(2 * time.Hour)}, "[a-plain c-labelled d-labelled]"},
			{object{"lastUsedAfter": at(-time.Hour)}, "[b-Used]"},
			{object{"nameContains": "LABEL"}, "[c-labelled d-labelled]"},
			{object{"nameContains": "%"}, "[]"},
			{object{"nameContains": `' OR 1=1 --`}, "[]"},
			{object{"descriptionContains": "batch"}, "[b-Used]"},
			{object{"hasExpiration": false}, "[e-old]"},
			{object{"hasBeenUsed": true}, "[b-Used]"},
			{object{"hasBeenUsed": false, "hasExpiration": true, "subscription": commonName}, "[a-plain]"},
			{object{}, "[a-plain b-Used c-labelled d-labelled e-old]"},
		} {
			Expect(fmt.Sprint(searched(ctx, owner, filters(search.filters)))).To(Equal(search.want), "%v", search.filters)
		}
	})

	It("sorts by every field in both directions, what has no value last (E-57)", func(ctx SpecContext) {
		owner, name := member()
		for i, expires := range []string{"3 days", "", "2 days"} {
			id, _ := foundKey(ctx, stored{name: fmt.Sprint("k", i), user: name, expires: expires})
			execute(ctx, `UPDATE api_keys SET created_at = now() + $2 * interval '1 minute' WHERE id = $1`, id, i)
		}
		by := func(field, order string) string {
			return fmt.Sprint(searched(ctx, owner, object{"sort": object{"by": field, "order": order}}))
		}
		Expect(by("name", "ASC")).To(Equal("[k0 k1 k2]"))
		Expect(by("name", "")).To(Equal("[k2 k1 k0]"))
		Expect(by("created_at", "asc")).To(Equal("[k0 k1 k2]"))
		Expect(by("expires_at", "asc")).To(Equal("[k2 k0 k1]"))
		Expect(by("expires_at", " Desc ")).To(Equal("[k0 k2 k1]"))
		Expect(by("last_used_at", "desc")).To(HaveLen(len("[k0 k1 k2]")))
	})

	It("shows administrators everybody's keys and others their own (E-58, A62)", func(ctx SpecContext) {
		owner, name := member()
		other, otherName := member()
		boss, bossName := admin(ctx)
		newKey(ctx, owner)
		revoked := newKey(ctx, owner)
		must(owner.Revoke(ctx, revoked.ID))
		newKey(ctx, other)
		users := map[string]bool{}
		for _, k := range must(boss.Search(ctx, object{"pagination": object{"limit": 100}})).Data {
			users[k.Username] = true
		}
		Expect(users).To(And(HaveKey(name), HaveKey(otherName)))
		Expect(must(boss.Search(ctx, filters(object{"username": " " + name + " ", "status": []string{"revoked"}}))).Data).
			To(ConsistOf(And(HaveField("ID", revoked.ID), HaveField("Username", name), HaveField("Groups", Not(BeEmpty())))))
		Expect(must(owner.Search(ctx, object{})).Data).To(And(HaveLen(2), HaveEach(HaveField("Username", name))))
		Expect(must(owner.Search(ctx, filters(object{"username": name}))).Data).To(HaveLen(2))
		Expect(post(ctx, owner, searchPath, filters(object{"username": bossName}))).
			To(exactly(http.StatusForbidden, `{"error":"non-admin users can only search their own API keys"}`))
	})

	It("finds nothing for nobody, whatever is sent, and nobody may keep that (E-60)", func(ctx SpecContext) {
		outside := contract.Outside(ctx)
		for _, body := range []string{`{}`, ``, `garbage`} {
			found := must(api.Client().Bearer("x").Do(outside, http.MethodPost, searchPath, body))
			Expect(found).To(exactly(http.StatusOK, `{"object":"list","data":[],"has_more":false}`))
			Expect(found.Header.Get("Cache-Control")).To(Equal("no-store"))
		}
	})

	It("finds an empty list and no null, with or without a body (E-62, E-63, A59 fixed: null, 400)", func(ctx SpecContext) {
		owner, _ := member()
		for _, body := range []any{object{}, nil} {
			Expect(post(ctx, owner, searchPath, body)).To(exactly(http.StatusOK, `{"object":"list","data":[],"has_more":false}`))
		}
	})
})
