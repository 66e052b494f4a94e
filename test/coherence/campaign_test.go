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

	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
)

const (
	// revokers is how many keys are revoked at the same time.
	revokers = 20
	// probeEvery is how often each replica is asked about a key that is being
	// revoked, steadyEvery how often each of the workers asks about others.
	probeEvery    = 20 * time.Millisecond
	steadyEvery   = 20 * time.Millisecond
	steadyWorkers = 4
	retryEvery    = 50 * time.Millisecond
)

// campaign revokes keys through one replica while all are asked about them, about
// those revoked before, and about good ones.
type campaign struct {
	// replicas are asked. The first revokes: the others learn of it from the database
	// only, because whoever revokes looks there for changes at once.
	replicas []*replica
	ring     keyring.Ring
	count    int
	// late, unless nil, is closed when the last quarter of the keys may be revoked.
	late chan struct{}

	// good are answers about keys that are never revoked, probes those about keys
	// until all refuse them.
	good, probes diary

	mu sync.Mutex
	// ended are the texts of keys that all replicas refuse.
	ended []string
	// own and others are for how long keys were accepted after their revocation was
	// answered, by the replica that answered it and by each other one.
	own, others durations
	// again are keys that were accepted although they had been refused.
	again []string
	// repeated counts revocations that had to be asked for again.
	repeated int
}

// run revokes all keys. Meanwhile the trouble is made, which ends with its context.
func (c *campaign) run(ctx context.Context, trouble func(context.Context, *campaign)) {
	GinkgoHelper()
	store(ctx, c.ring, c.count)
	background, asking := startLoad(ctx)
	for _, r := range c.replicas {
		background.workers(asking, steadyWorkers, steadyEvery, func(ctx context.Context, worker, turn int) {
			c.good.note(r.ask(ctx, steady.Text((turn*steadyWorkers+worker)%steadyKeys)))
		})
		background.workers(asking, 1, probeEvery, func(ctx context.Context, _, turn int) { c.revisit(ctx, r, turn) })
	}
	making, finish := context.WithCancel(ctx)
	var troubled sync.WaitGroup
	troubled.Go(func() {
		defer GinkgoRecover()
		trouble(making, c)
	})
	numbers := make(chan int)
	var working sync.WaitGroup
	for range min(revokers, c.count) {
		working.Go(func() {
			defer GinkgoRecover()
			for i := range numbers {
				c.end(ctx, i)
			}
		})
	}
	for i := range c.count {
		if c.late != nil && i == c.count-c.count/4 {
			<-c.late
		}
		numbers <- i
	}
	close(numbers)
	working.Wait()
	finish()
	troubled.Wait()
	background.stop()
}

// progress is how many keys all replicas refuse.
func (c *campaign) progress() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ended)
}

// revisit asks about one of the keys that were refused before.
func (c *campaign) revisit(ctx context.Context, r *replica, turn int) {
	c.mu.Lock()
	if len(c.ended) == 0 {
		c.mu.Unlock()
		return
	}
	key := c.ended[turn%len(c.ended)]
	c.mu.Unlock()
	if s := r.ask(ctx, key); s.outcome == accepted {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.again = append(c.again, fmt.Sprintf("by %s at %s", r.Address(), s.asked.Format(time.TimeOnly)))
	}
}

// end revokes one key: it asks all replicas about it until all of them accept it,
// and from then until all refuse it.
func (c *campaign) end(ctx context.Context, i int) {
	key := c.ring.Text(i)
	watching, asking := startLoad(ctx)
	defer watching.stop()
	probes := make([]*probe, len(c.replicas))
	for n, r := range c.replicas {
		p := &probe{}
		probes[n] = p
		watching.workers(asking, 1, probeEvery, func(ctx context.Context, _, _ int) {
			s := r.ask(ctx, key)
			c.probes.note(s)
			p.note(s)
		})
	}
	Eventually(func() bool { return every(probes, (*probe).accepts) }).Should(BeTrue(), "a key that nobody has revoked is accepted by all")
	at := c.revoke(ctx, i)
	Eventually(func() bool { return every(probes, (*probe).refuses) }).Should(BeTrue(), "a revoked key is refused by all")
	watching.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, p := range probes {
		lag := max(0, p.latest.Sub(at))
		if n == 0 {
			c.own = append(c.own, lag)
		} else {
			c.others = append(c.others, lag)
		}
	}
	c.ended = append(c.ended, key)
}

// revoke asks for a revocation until the replica says that it has done it, and
// returns when it said so. A key whose answer was lost is not active the next time.
func (c *campaign) revoke(ctx context.Context, i int) time.Time {
	owner := c.replicas[0].api.As(c.ring.Owner(i), group)
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for repeated := false; ; repeated = true {
		response, err := owner.Do(ctx, http.MethodDelete, "/v1/api-keys/"+c.ring.ID(i), nil)
		Expect(err).NotTo(HaveOccurred())
		if response.Status == http.StatusOK || repeated && response.Status == http.StatusNotFound {
			return time.Now()
		}
		Expect(response.Status).To(BeNumerically(">=", http.StatusInternalServerError), response.String())
		c.mu.Lock()
		c.repeated++
		c.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			Expect(ctx.Err()).NotTo(HaveOccurred())
		}
	}
}

// String is what is reported of a campaign.
func (c *campaign) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d keys revoked, %d attempts repeated; accepted after the answer: elsewhere %s; by the replica that answered %s\nkeys being revoked: %s\ngood keys: %s",
		len(c.ended), c.repeated, c.others, c.own, &c.probes, &c.good)
}

// probe is what one replica says of one key.
type probe struct {
	mu sync.Mutex
	// latest is when it was asked for the last time that it accepted the key.
	latest time.Time
	last   outcome
}

func (p *probe) note(s sight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.outcome == accepted {
		p.latest = s.asked
	}
	p.last = s.outcome
}

func (p *probe) accepts() bool { return p.says(accepted) }
func (p *probe) refuses() bool { return p.says(refused) }

func (p *probe) says(o outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last == o
}

func every(probes []*probe, holds func(*probe) bool) bool {
	for _, p := range probes {
		if !holds(p) {
			return false
		}
	}
	return true
}
