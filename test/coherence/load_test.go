// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/opendatahub-io/maas-operator/test/internal/scrape"
	"github.com/opendatahub-io/maas-operator/test/service"
)

var _ = Describe("A new key", func() {
	It("is accepted by every other replica as soon as its owner has it", func(ctx SpecContext) {
		const minters = 4
		var first diary
		var minting errgroup.Group
		minting.SetLimit(minters)
		for i := range *revocations / 2 {
			minting.Go(func() error {
				by := i % len(replicas)
				key, err := replicas[by].api.As(fmt.Sprintf("minter-%d", i), group).Create(ctx, service.CreateKey{Name: "new", Subscription: subscription})
				if err != nil {
					return err
				}
				for n, r := range replicas {
					if n != by {
						first.note(r.ask(ctx, key.Key))
					}
				}
				return nil
			})
		}
		Expect(minting.Wait()).To(Succeed())
		AddReportEntry("measured", first.String())
		Expect(first.of(accepted)).To(HaveLen(*revocations/2*(len(replicas)-1)), "%v %v", first.texts(refused), first.texts(failed))
	})
})

var _ = Describe("A flood of keys that nobody knows", func() {
	const (
		flooders = 32
		lasts    = 2 * time.Second
		// rate is how many keys a replica looks up in a second at most, and at once.
		rate = 500
	)

	It("neither keeps good keys from being accepted nor reaches the database", func(ctx SpecContext) {
		r := replicas[0]
		good := func(into *diary) func(context.Context, int, int) {
			return func(ctx context.Context, worker, turn int) {
				into.note(r.ask(ctx, steady.Text((turn*steadyWorkers+worker)%steadyKeys)))
			}
		}
		var calm, pressed, unknown diary
		quiet, running := startLoad(ctx)
		quiet.workers(running, steadyWorkers, steadyEvery, good(&calm))
		Eventually(func() int { return len(calm.of(accepted)) }).Should(BeNumerically(">=", steadyKeys))
		quiet.stop()

		lookUps := func() float64 {
			return must(scrape.Get(ctx, r.MetricsURL())).Sum("maas_api_key_index_lookups_total")
		}
		before, began := lookUps(), time.Now()
		flood, running := startLoad(ctx)
		ring := ringOf("flood")
		flood.workers(running, flooders, time.Millisecond, func(ctx context.Context, worker, turn int) {
			unknown.note(r.ask(ctx, ring.Text(turn*flooders+worker)))
		})
		flood.workers(running, steadyWorkers, steadyEvery, good(&pressed))
		Eventually(func() time.Duration { return time.Since(began) }).Should(BeNumerically(">", lasts))
		flood.stop()
		took, asked := time.Since(began), lookUps()-before
		AddReportEntry("measured", fmt.Sprintf("good keys without the flood: %s\ngood keys in the flood: %s\nunknown keys: %s; %.0f looked up in %s",
			&calm, &pressed, &unknown, asked, took.Round(time.Millisecond)))

		Expect(pressed.of(accepted)).To(HaveLen(len(pressed.sights)), "%v %v", pressed.texts(failed), pressed.texts(unheard))
		Expect(len(pressed.sights)).To(BeNumerically(">", steadyWorkers))
		Expect(pressed.times().longest()).To(BeNumerically("<", patience))
		Expect(unknown.of(accepted)).To(BeEmpty())
		Expect(unknown.texts(unheard)).To(BeEmpty())
		Expect(asked).To(BeNumerically("<=", rate*(took.Seconds()+1)), "keys looked up")
		Expect(len(unknown.of(failed))).To(BeNumerically(">", 0), "a flood that fits through is none")
	})
})
