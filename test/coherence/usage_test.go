// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coherence

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/internal/keyring"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	usageKeys    = 6000
	usageWorkers = 4
	usageEvery   = 5 * time.Millisecond
	// interval is how often uses are written, writeTime what one write may take.
	interval  = 500 * time.Millisecond
	writeTime = time.Second
	// before is how long keys are used until the replica ends.
	before = 2 * (interval + writeTime/2)
)

// users use keys of a replica, each once, until it is gone.
type users struct {
	r    *replica
	ring keyring.Ring
	used atomic.Int64
	// diary has the keys that were accepted, accepted when that was told, by number.
	diary    diary
	accepted []atomic.Pointer[time.Time]
}

// endedBy uses keys under load while the replica ends by the given means, and
// returns when it was told to.
func (u *users) endedBy(ctx context.Context, end func() error) time.Time {
	GinkgoHelper()
	store(ctx, u.ring, usageKeys)
	u.accepted = make([]atomic.Pointer[time.Time], usageKeys)
	Expect(u.r.Start(ctx)).To(Succeed())
	asking, running := startLoad(ctx)
	defer asking.stop()
	asking.workers(running, usageWorkers, usageEvery, func(ctx context.Context, _, _ int) {
		i := int(u.used.Add(1)) - 1
		if i >= usageKeys {
			return
		}
		if s := u.r.ask(ctx, u.ring.Text(i)); s.outcome == accepted {
			u.diary.note(s)
			u.accepted[i].Store(&s.answered)
		}
	})
	Eventually(func() bool {
		seen := u.diary.of(accepted)
		return len(seen) > 0 && time.Since(seen[0].answered) > before
	}).Should(BeTrue())
	at := time.Now()
	Expect(end()).To(Succeed())
	return at
}

// lost counts the keys accepted before a moment, and those of them whose use the
// database does not know.
func (u *users) lost(ctx context.Context, until time.Time) (lost, of int) {
	GinkgoHelper()
	var ids []string
	for i := range u.accepted {
		if at := u.accepted[i].Load(); at != nil && at.Before(until) {
			ids = append(ids, u.ring.ID(i))
		}
	}
	Expect(database.QueryRow(ctx, `SELECT count(*) FROM api_keys WHERE id = ANY($1) AND last_used_at IS NULL`, ids).Scan(&lost)).To(Succeed())
	return lost, len(ids)
}

var _ = Describe("Of the uses of keys", func() {
	newUsers := func(ctx context.Context, name string) *users {
		return &users{ring: ringOf(name), r: newReplica(ctx, service.ReplicaOptions{Name: name, Args: []string{"--last-used-interval=" + interval.String()}})}
	}

	It("none is lost when a replica is stopped under load", func(ctx SpecContext) {
		u := newUsers(ctx, "stopped")
		at := u.endedBy(ctx, u.r.Stop)
		lost, of := u.lost(ctx, time.Now())
		_, unwritten := u.lost(ctx, at.Add(-interval))
		AddReportEntry("measured", fmt.Sprintf("%d uses, %d lost", of, lost))
		Expect(of).To(BeNumerically(">", unwritten), "uses that were not written yet when the replica was told to stop")
		Expect(lost).To(BeZero())
	})

	It("only those of the last interval are lost when one is killed", func(ctx SpecContext) {
		u := newUsers(ctx, "killed")
		at := u.endedBy(ctx, u.r.Kill)
		lost, of := u.lost(ctx, at.Add(-interval-writeTime))
		altogether, all := u.lost(ctx, time.Now())
		AddReportEntry("measured", fmt.Sprintf("%d uses, %d lost; %d older than an interval and a write, %d of them lost", all, altogether, of, lost))
		Expect(of).To(BeNumerically(">", 0))
		Expect(lost).To(BeZero())
	})
})
