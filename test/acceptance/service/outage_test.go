// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// bound is what no answer may take while something else does not answer. The
// machine may be busy.
const bound = 8 * time.Second

// unanswered asks a replica for things that need the database, all at once: each
// fails, and in time.
func unanswered(ctx SpecContext, r *service.Replica, user string, asks map[string]any) {
	GinkgoHelper()
	routes := slices.Collect(maps.Keys(asks))
	atOnce(len(routes), func(i int) {
		client := r.Client()
		if !strings.Contains(routes[i], "/internal/") {
			client = client.As(user, commonGroup)
		}
		method, path, _ := strings.Cut(routes[i], " ")
		begin := time.Now()
		got := do(ctx, client, method, path, asks[routes[i]])
		Expect(got.Status).To(BeElementOf(http.StatusInternalServerError, http.StatusServiceUnavailable), "%s: %s", routes[i], got)
		Expect(time.Since(begin)).To(BeNumerically("<", bound), routes[i])
	})
}

var _ = Describe("A database that is away", Serial, func() {
	It("leaves known keys valid for the grace and then refuses them, and is taken up again when it is back (E-23, E-139, E-140)", func(ctx SpecContext) {
		url := must(on.Postgres.NewDatabase(ctx))
		r := up(ctx, service.ReplicaOptions{Name: unique("outage"), Database: url, Args: []string{
			"--database-grace=3s", "--db-statement-timeout=500ms", "--last-used-interval=100ms", "--last-used-debounce-secs=0",
		}})
		user := unique("owner")
		owner := r.Client().As(user, commonGroup)
		key := newKey(ctx, owner)
		Expect(verdict(ctx, r, key.Key).Valid).To(BeTrue())
		single := map[string]any{
			"POST " + keysPath: service.CreateKey{Name: "x"}, "GET " + keysPath + "/" + key.ID: nil, "DELETE " + keysPath + "/" + key.ID: nil,
			"POST " + searchPath: nil, "POST " + validatePath: object{"key": "sk-oai-neverSeen_neverSeen"},
		}
		many := map[string]any{ // These may take longer.
			"POST " + bulkPath: object{"username": user}, "POST " + cleanupPath: nil, "DELETE " + tenantPath(service.Tenant): nil,
		}

		DeferCleanup(func(ctx SpecContext) {
			Expect(on.Postgres.Thaw()).To(Succeed())
			if !on.Postgres.Process().Alive() {
				Expect(on.Postgres.Up(ctx)).To(Succeed())
			}
		})

		By("being frozen: nothing hangs")
		Expect(on.Postgres.Freeze()).To(Succeed())
		frozen := time.Now()
		Expect(verdict(ctx, r, key.Key).Valid).To(BeTrue())
		Expect(reasonOf(ctx, r, "nonsense")).To(Equal("invalid key format"), "no database is needed for that (E-8)")
		unanswered(ctx, r, user, single)
		Expect(get(ctx, r.Client(), "/health").Status).To(Equal(http.StatusOK))
		Eventually(func() int {
			return post(ctx, r.Client(), validatePath, object{"key": key.Key}).Status
		}).Should(Equal(http.StatusInternalServerError))
		Expect(time.Since(frozen)).To(BeNumerically(">=", 2*time.Second), "not before the grace is over, which began with the last poll")
		Expect(r.Ready(ctx)).To(BeFalse())
		Expect(series(ctx, r, "maas_api_key_validation_total", `result="error"`, `tenant_name="`+service.Tenant+`"`)).To(BeNumerically(">=", 1))

		By("coming back: no restart is needed")
		Expect(on.Postgres.Thaw()).To(Succeed())
		Eventually(func() bool {
			return post(ctx, r.Client(), validatePath, object{"key": key.Key}).Status == http.StatusOK
		}).Should(BeTrue())
		Eventually(func() bool { return r.Ready(ctx) }).Should(BeTrue())

		By("being gone altogether")
		Eventually(func() string { return must(owner.Get(ctx, key.ID)).LastUsedAt }).ShouldNot(BeEmpty())
		Expect(on.Postgres.Down()).To(Succeed())
		Expect(verdict(ctx, r, key.Key).Valid).To(BeTrue())
		unanswered(ctx, r, user, single)
		unanswered(ctx, r, user, many)
		Expect(on.Postgres.Up(ctx)).To(Succeed())
		Eventually(func() error { _, err := owner.Get(ctx, key.ID); return err }).Should(Succeed())
		Expect(must(owner.Revoke(ctx, key.ID)).Status).To(Equal("revoked"))
		Eventually(func() string { return reasonOf(ctx, r, key.Key) }).Should(Equal("key revoked or expired"))
		Expect(r.Stop()).To(Succeed())
		for _, other := range []*service.Replica{api, peer, stranger} {
			// Ready also tells one that lives on its grace.
			Eventually(func() int { return post(ctx, other.Client(), validatePath, object{"key": unknownKey()}).Status }).Should(Equal(http.StatusOK))
		}
	})
})

var _ = Describe("A service that is starting", func() {
	It("says so to everybody, lives, and is not ready (W-19 fixed)", func(ctx SpecContext) {
		r := must(on.Replica(ctx, service.ReplicaOptions{
			Name: unique("starting"), Database: "postgres://maas@" + must(testenv.FreeAddress(ctx)) + "/maas", Args: []string{"--start-timeout=1m"},
		}))
		Expect(r.Launch(ctx)).To(Succeed())
		Eventually(func() error { _, err := r.Client().Do(ctx, http.MethodGet, "/health", nil); return err }).Should(Succeed())
		Expect(get(ctx, r.Client(), "/health").Status).To(Equal(http.StatusOK))
		Expect(get(ctx, r.Client(), "/livez").Status).To(Equal(http.StatusOK))
		for _, route := range append(internalRoutes(), "POST "+keysPath, "GET "+keysPath+"/config", "GET "+keysPath+"/x", "DELETE "+keysPath+"/x",
			"POST "+searchPath, "POST "+bulkPath, "GET "+modelsPath, "GET "+subscriptionsPath, "GET /v1/model/x/subscriptions", "GET "+tenantsPath, "GET /readyz",
		) {
			method, path, _ := strings.Cut(route, " ")
			Expect(do(ctx, r.Client(), method, path, nil).Status).To(Equal(http.StatusServiceUnavailable), route)
		}
		Expect(r.Stop()).To(Succeed())
	})
})

var _ = Describe("An API server that does not answer", Serial, func() {
	It("stops neither validation nor selection, makes nobody an administrator, and is nobody's fault (E-48, E-79 fixed: 404 in two places)", func(ctx SpecContext) {
		owner, _ := member()
		key := newKey(ctx, owner)
		foreign, name := member()
		dashboard := api.Client().Bearer(accountToken(ctx))
		Expect(on.FreezeAPIServer()).To(Succeed())
		DeferCleanup(func() { Expect(on.ThawAPIServer()).To(Succeed()) })
		failed := exactly(http.StatusInternalServerError, `{"error":"Failed to check authorization"}`)
		asks := []func(){
			func() { Expect(get(ctx, foreign, keysPath+"/"+key.ID)).To(failed) },
			func() {
				Expect(get(ctx, foreign, keysPath+"/"+unique("missing"))).To(failed, "the same as for a key that exists")
			},
			func() { Expect(do(ctx, foreign, http.MethodDelete, keysPath+"/"+key.ID, nil)).To(failed) },
			func() { Expect(post(ctx, foreign, searchPath, object{})).To(failed) },
			func() { Expect(post(ctx, foreign, bulkPath, object{"username": "somebody-else"})).To(failed) },
			func() {
				Expect(get(ctx, dashboard, tenantsPath)).To(answer(http.StatusServiceUnavailable, "Authentication failed"))
			},
			func() {
				Expect(must(owner.Get(ctx, key.ID)).ID).To(Equal(key.ID), "an owner needs no check")
				Expect(must(foreign.Search(ctx, object{"filters": object{"username": name}})).Data).To(BeEmpty())
				Expect(verdict(ctx, api, key.Key).Valid).To(BeTrue())
				Expect(must(api.Client().Select(ctx, service.SelectRequest{Username: name, Groups: []string{commonGroup}, Model: commonModel.String()})).AccessAllowed).To(BeTrue())
			},
		}
		begin := time.Now()
		atOnce(len(asks), func(i int) { asks[i]() })
		Expect(time.Since(begin)).To(BeNumerically("<", bound))
		Expect(on.ThawAPIServer()).To(Succeed())
		Expect(must(owner.Get(ctx, key.ID)).Status).To(Equal("active"))
		Eventually(func() service.Response { return get(ctx, foreign, keysPath+"/"+key.ID) }).Should(exactly(http.StatusNotFound, notFoundBody), "a failure is not remembered")
	})
})
