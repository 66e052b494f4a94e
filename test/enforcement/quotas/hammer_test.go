// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// shot is one of many requests, and what became of it.
type shot struct {
	sent   time.Time
	status int
	// free tells that it was served although no limit was for it.
	free   bool
	limits []world.Use
}

// hammer asks without a pause while something changes.
type hammer struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	shots []shot
	err   error
	// answer is the latest one.
	answer world.Answer
}

// strike begins to ask, with so many workers, and returns after the first answer.
func strike(ctx context.Context, workers int, r world.Request) *hammer {
	GinkgoHelper()
	h := &hammer{}
	ctx, h.cancel = context.WithCancel(ctx)
	DeferCleanup(h.stop)
	for range workers {
		h.all.Go(func() { h.work(ctx, r) })
	}
	Eventually(ctx, h.count).Should(BeNumerically(">", 0))
	return h
}

func (h *hammer) work(ctx context.Context, r world.Request) {
	for ctx.Err() == nil {
		sent := time.Now()
		answer, err := on.Do(ctx, r)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		if err != nil {
			h.err = err
		} else {
			h.answer = answer
			h.shots = append(h.shots, shot{sent: sent, status: answer.Status, free: free(answer.Decision), limits: limitsOf(answer.Decision)})
		}
		h.mu.Unlock()
	}
}

func (h *hammer) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.shots)
}

// last are the statuses of the latest answers.
func (h *hammer) last() (statuses []int) {
	const several = 10
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.shots[max(0, len(h.shots)-several):] {
		statuses = append(statuses, s.status)
	}
	return statuses
}

// settles waits until nothing but one status has been answered for a while.
func (h *hammer) settles(ctx context.Context, status int) {
	GinkgoHelper()
	Eventually(ctx, h.last).Should(And(HaveLen(10), HaveEach(status)), h.say)
}

// say is for failure messages.
func (h *hammer) say() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("the latest answer is %s; the gateway decided %+v", h.answer, h.answer.Decision)
}

// stop ends it, and returns all there was, in the order in which it was sent.
func (h *hammer) stop() volley {
	GinkgoHelper()
	h.cancel()
	h.all.Wait()
	Expect(h.err).NotTo(HaveOccurred())
	slices.SortFunc(h.shots, func(a, b shot) int { return a.sent.Compare(b.sent) })
	return h.shots
}

// volley are many requests in the order in which they were sent.
type volley []shot

// from are those that were sent from then on.
func (v volley) from(t time.Time) volley {
	return slices.DeleteFunc(slices.Clone(v), func(s shot) bool { return s.sent.Before(t) })
}

// free are those that were served although no limit was for them.
func (v volley) free() volley {
	return slices.DeleteFunc(slices.Clone(v), func(s shot) bool { return !s.free })
}

// with are those that were answered with a status.
func (v volley) with(status int) volley {
	return slices.DeleteFunc(slices.Clone(v), func(s shot) bool { return s.status != status })
}

// lastAfter is how long after some time the last one was sent; zero if none was.
func (v volley) lastAfter(t time.Time) time.Duration {
	if len(v) == 0 || v[len(v)-1].sent.Before(t) {
		return 0
	}
	return v[len(v)-1].sent.Sub(t).Round(time.Millisecond)
}

// String tells each with the time since the first one.
func (v volley) String() string {
	var out strings.Builder
	for _, s := range v {
		fmt.Fprintf(&out, "%s: %d free=%t %+v\n", s.sent.Sub(v[0].sent).Round(time.Millisecond), s.status, s.free, s.limits)
	}
	return out.String()
}

// span is the time between the first and the last.
func (v volley) span() time.Duration {
	if len(v) == 0 {
		return 0
	}
	return v[len(v)-1].sent.Sub(v[0].sent).Round(time.Millisecond)
}

// bounded judges for how long after a change some were served against no limit. What is
// generated for a gateway are several objects, which Kuadrant and its engines take up one
// after the other: it takes a moment, and not as long as anything is remembered.
func (v volley) bounded(changed time.Time) {
	GinkgoHelper()
	after := v.from(changed)
	AddReportEntry("measured", fmt.Sprintf("of %d requests after the change %d were served, the last %s after it; %d of them against no limit, within %s",
		len(after), len(after.with(http.StatusOK)), after.with(http.StatusOK).lastAfter(changed), len(v.free()), v.free().span()))
	Expect(v.free().span()).To(BeNumerically("<", defaultTTL/3), v.free().String)
	Expect(after.free()).To(HaveLen(len(v.free())), "nobody was unlimited before")
}
