// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"net/http"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// crowding is about requests that come while others are being answered: a request is
// counted when its reply has ended, so those under way do not see each other.
func crowding() {
	g := NewGomega(Fail)
	BeforeEach(func(ctx SpecContext) { afresh(ctx, g) })

	It("exceeds a limit by no more than what is under way (B05)", func(ctx SpecContext) {
		const workers, words, limit = 8, 10, 40
		alice := at.at(at.chat, at.alice.by(large))
		spent := spend(ctx, workers, words, alice)[0]
		Expect(spent.err).NotTo(HaveOccurred())
		Expect(counted(ctx, g, alice)).To(Equal([]uint64{spent.tokens}))
		Expect(spent.tokens).To(BeNumerically(">=", limit))
		Expect(spent.tokens).To(BeNumerically("<", limit+workers*cost(words)), "the last request that is let in finds less than the limit counted, and at most the other workers' under way")
		refused(ctx, g, alice.chat(1))
		AddReportEntry("a limit of 40, 8 at a time, replies of 25 tokens", spent.tokens)
	}, SpecTimeout(specTimeout))

	It("counts two callers apart who come at the same time (B05)", func(ctx SpecContext) {
		const workers, words, limit = 4, 10, 40
		callers := []asking{at.at(at.chat, at.alice.by(large)), at.at(at.chat, at.bob.by(large))}
		for i, spent := range spend(ctx, workers, words, callers...) {
			Expect(spent.err).NotTo(HaveOccurred())
			Expect(counted(ctx, g, callers[i])).To(Equal([]uint64{spent.tokens}))
			Expect(spent.tokens).To(And(BeNumerically(">=", limit), BeNumerically("<", limit+workers*cost(words))))
			refused(ctx, g, callers[i].chat(1))
			AddReportEntry("a limit of 40, 4 at a time for each of two users, replies of 25 tokens", spent.tokens)
		}
	}, SpecTimeout(specTimeout))

	It("counts two subscriptions apart that one caller uses at the same time", func(ctx SpecContext) {
		const workers, words = 3, 10
		callers := []asking{at.at(at.chat, at.alice.by(small)), at.at(at.chat, at.alice.by(large))}
		sum, values := uint64(0), uint64(0)
		for _, spent := range spend(ctx, workers, words, callers...) {
			Expect(spent.err).NotTo(HaveOccurred())
			sum += spent.tokens
		}
		for _, value := range counted(ctx, g, callers[0]) {
			values += value
		}
		Expect(values).To(Equal(sum))
	}, SpecTimeout(specTimeout))
}

// bill is what somebody was told to have used.
type bill struct {
	tokens uint64
	err    error
}

// spend has so many workers ask for each caller until they are refused.
func spend(ctx context.Context, workers, words int, callers ...asking) []bill {
	var mu sync.Mutex // guards bills
	bills := make([]bill, len(callers))
	var all sync.WaitGroup
	for i, caller := range callers {
		for range workers {
			all.Go(func() {
				for over := false; !over; {
					answer, err := on.Do(ctx, caller.chat(words))
					mu.Lock()
					bills[i].tokens += tokensIn(answer)
					if err != nil {
						bills[i].err = err
					}
					mu.Unlock()
					over = err != nil || answer.Status != http.StatusOK
				}
			})
		}
	}
	all.Wait()
	return bills
}
