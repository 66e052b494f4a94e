// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// grace is what the replica of these specs is started with.
	grace = 5 * time.Second
	// shortLife is that of keys that expire while the database is frozen.
	shortLife = 2500 * time.Millisecond
	// patience is how long any answer about a key may take, and admission how long
	// one to a request that needs the database.
	patience  = 2 * time.Second
	admission = 10 * time.Second
)

// blackout is what a replica says while the database is frozen.
type blackout struct {
	r *replica
	// Processes of the server are halted one by one from freezing to frozen; an
	// answer between the two may still confirm keys.
	freezing, frozen         time.Time
	thawed, expiry           time.Time
	good, short, strange     diary
	revocation               time.Duration
	revocationStatus, before int
}

// run freezes the database under load until the replica refuses everybody, and for
// a second longer.
func (b *blackout) run(ctx context.Context) {
	GinkgoHelper()
	short := ringOf("short")
	short.Life = shortLife
	store(ctx, short, 1)
	b.expiry = time.Now().Add(shortLife)
	Eventually(func() outcome { return b.r.ask(ctx, short.Text(0)).outcome }).Should(Equal(accepted))
	asking, running := startLoad(ctx)
	defer asking.stop()
	asking.workers(running, steadyWorkers, steadyEvery, func(ctx context.Context, worker, turn int) {
		b.good.note(b.r.ask(ctx, steady.Text((turn*steadyWorkers+worker)%steadyKeys)))
	})
	asking.workers(running, 1, steadyEvery, func(ctx context.Context, _, _ int) { b.short.note(b.r.ask(ctx, short.Text(0))) })
	Eventually(func() int { return len(b.good.of(accepted)) }).Should(BeNumerically(">=", steadyKeys), "all keys are in use")

	var group sync.WaitGroup
	defer group.Wait()
	b.freezing = time.Now()
	Expect(on.Postgres.Freeze()).To(Succeed())
	b.frozen = time.Now()
	defer func() {
		b.thawed = time.Now()
		Expect(on.Postgres.Thaw()).To(Succeed())
	}()
	group.Go(func() {
		defer GinkgoRecover()
		b.revoke(ctx)
	})
	unknown := ringOf("unknown")
	asking.workers(running, 1, steadyEvery, func(ctx context.Context, _, turn int) { b.strange.note(b.r.ask(ctx, unknown.Text(turn))) })
	Eventually(func() bool { return b.r.Ready(ctx) }).Should(BeFalse(), "readiness once the grace is over")
	closed := len(b.good.of(failed))
	Eventually(func() int { return len(b.good.of(failed)) }).Should(BeNumerically(">=", closed+steadyWorkers), "refusals once the grace is over")
	Consistently(func() bool { return b.r.Ready(ctx) }, time.Second).Should(BeFalse())
}

// revoke asks for a revocation that the database cannot note.
func (b *blackout) revoke(ctx context.Context) {
	began := time.Now()
	response, err := b.r.api.As(steady.Owner(0), group).Do(ctx, http.MethodDelete, "/v1/api-keys/"+ringOf("nobody's").ID(0), nil)
	Expect(err).NotTo(HaveOccurred())
	b.revocation, b.revocationStatus = time.Since(began), response.Status
}

// within lists sights that were asked for and answered between two moments.
func within(sights []sight, from, to time.Time) []sight {
	var out []sight
	for _, s := range sights {
		if !s.asked.Before(from) && s.answered.Before(to) {
			out = append(out, s)
		}
	}
	return out
}

var _ = Describe("While the database is frozen", Ordered, func() {
	b := &blackout{}

	BeforeAll(func(ctx SpecContext) {
		b.r = up(ctx, service.ReplicaOptions{Name: "brief", Args: []string{"--database-grace=" + grace.String()}})
		DeferCleanup(func() { Expect(b.r.Stop()).To(Succeed()) })
		b.before = b.r.PID()
		b.run(ctx)
		AddReportEntry("measured", fmt.Sprintf("frozen for %s\ngood keys: %s\nkeys that expire meanwhile: %s\nunknown keys: %s\na revocation: %d after %s",
			b.thawed.Sub(b.frozen).Round(time.Millisecond), &b.good, &b.short, &b.strange, b.revocationStatus, b.revocation.Round(time.Millisecond)))
	})

	It("good keys are accepted for the grace, counted from when the database last confirmed them", func() {
		Expect(b.good.texts(refused)).To(BeEmpty())
		// The last confirmation is up to an interval of polls old, and the poll takes
		// its time.
		until := b.freezing.Add(grace - bound)
		Expect(within(b.good.of(failed), b.freezing, until)).To(BeEmpty())
		Expect(within(b.good.of(accepted), b.frozen.Add(bound), until)).NotTo(BeEmpty())
	})

	It("everybody is turned away after the grace", func() {
		Expect(within(b.good.of(accepted), b.frozen.Add(grace), b.thawed)).To(BeEmpty())
		Expect(within(b.good.of(failed), b.frozen.Add(grace), b.thawed)).NotTo(BeEmpty())
	})

	It("a key that expires is refused from then on", func() {
		const apart = 100 * time.Millisecond // The clocks of the server and of the replica.
		Expect(within(b.short.of(accepted), b.expiry.Add(apart), b.thawed)).To(BeEmpty())
		Expect(within(b.short.of(refused), b.expiry.Add(apart), b.freezing.Add(grace-bound))).NotTo(BeEmpty())
	})

	It("nothing is said about keys that nobody knows", func() {
		Expect(within(b.strange.of(refused), b.frozen, b.thawed)).To(BeEmpty())
		Expect(b.strange.of(accepted)).To(BeEmpty())
		Expect(within(b.strange.of(failed), b.frozen, b.thawed)).NotTo(BeEmpty())
	})

	It("nothing hangs", func() {
		for _, d := range []*diary{&b.good, &b.short, &b.strange} {
			Expect(d.texts(unheard)).To(BeEmpty())
			Expect(d.times().longest()).To(BeNumerically("<", patience))
		}
		Expect(b.revocationStatus).To(BeNumerically(">=", http.StatusInternalServerError))
		Expect(b.revocation).To(BeNumerically("<", admission))
	})

	It("and answers again, the same process accepts good keys", func(ctx SpecContext) {
		awaitGood(ctx, b.r)
		Expect(b.r.PID()).To(Equal(b.before))
		Expect(b.r.Alive()).To(BeTrue())
		Expect(b.r.ask(ctx, ringOf("unknown").Text(0)).outcome).To(Equal(refused))
	})
})
