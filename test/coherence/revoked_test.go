// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
)

// killEvery is how often the connections are ended over which replicas are told of
// changes: so often that hardly anything is told.
const killEvery = 20 * time.Millisecond

var _ = Describe("A revoked key", func() {
	// judge says what must hold whatever happens.
	judge := func(c *campaign) {
		GinkgoHelper()
		AddReportEntry("measured", c.String())
		Expect(c.ended).To(HaveLen(*revocations))
		Expect(c.others.longest()).To(BeNumerically("<=", bound), "for how long other replicas accepted it")
		Expect(c.own.longest()).To(BeNumerically("<=", bound), "for how long the replica accepted it that had revoked it")
		Expect(c.again).To(BeEmpty(), "revoked keys that were accepted again")
		Expect(c.good.of(refused)).To(BeEmpty(), "good keys that were refused")
		Expect(c.good.of(accepted)).NotTo(BeEmpty(), "good keys that were accepted")
		Expect(c.good.texts(unheard)).To(BeEmpty(), "requests about good keys without an answer")
		Expect(c.probes.texts(unheard)).To(BeEmpty(), "requests about keys being revoked without an answer")
	}

	It("is refused at once by the replica that revoked it, and within two seconds by the others", func(ctx SpecContext) {
		c := &campaign{replicas: replicas, ring: ringOf("calm"), count: *revocations}
		c.run(ctx, func(context.Context, *campaign) {})
		judge(c)
		Expect(c.own.longest()).To(BeZero())
		Expect(c.good.texts(failed)).To(BeEmpty())
	})

	It("is so while the connections that tell of changes are ended again and again", func(ctx SpecContext) {
		killed := 0
		c := &campaign{replicas: replicas, ring: ringOf("deaf"), count: *revocations}
		c.run(ctx, func(ctx context.Context, _ *campaign) {
			tick := time.NewTicker(killEvery)
			defer tick.Stop()
			for ctx.Err() == nil {
				ended := 0
				Expect(database.QueryRow(context.WithoutCancel(ctx), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'maas-api listener'`).
					Scan(&ended)).To(Succeed())
				killed += ended
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
		judge(c)
		AddReportEntry("connections ended", killed)
		Expect(killed).To(BeNumerically(">=", len(replicas)), "a trouble that meets nobody proves nothing")
		Expect(c.good.texts(failed)).To(BeEmpty())
	})

	It("is so when the database is restarted in between", func(ctx SpecContext) {
		c := &campaign{replicas: replicas, ring: ringOf("restart"), count: *revocations, late: make(chan struct{})}
		c.run(ctx, func(ctx context.Context, c *campaign) {
			defer close(c.late)
			Eventually(c.progress).WithTimeout(10 * time.Minute).Should(BeNumerically(">=", c.count/4))
			Expect(on.Postgres.Restart(ctx)).To(Succeed())
		})
		judge(c)
		awaitGood(ctx, replicas...)
	})

	It("is so when replicas reach the database through a pooler and are told of nothing", func(ctx SpecContext) {
		pooler := must(on.Postgres.StartPooler(ctx, on.Database))
		DeferCleanup(pooler.Stop)
		pooled := []*replica{
			up(ctx, service.ReplicaOptions{Name: "pooled-0", Database: pooler.URL}),
			up(ctx, service.ReplicaOptions{Name: "pooled-1", Database: pooler.URL}),
		}
		DeferCleanup(func() {
			for _, r := range pooled {
				Expect(r.Stop()).To(Succeed())
			}
		})
		c := &campaign{replicas: append(pooled, replicas[0]), ring: ringOf("pooled"), count: *revocations}
		c.run(ctx, func(context.Context, *campaign) {})
		judge(c)
		Expect(c.good.texts(failed)).To(BeEmpty())
	})
})
