// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quotas

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// quotaCase is a promise about quotas. It begins with all counters at zero, and judges
// with the Gomega it is given, so that the suite can also ask whether it notices when
// nothing is enforced.
type quotaCase struct {
	name string
	rows []string
	run  func(ctx context.Context, g Gomega)
}

// title is the name of a case with its rows.
func (c quotaCase) title() string {
	if len(c.rows) == 0 {
		return c.name
	}
	return c.name + " (" + strings.Join(c.rows, ", ") + ")"
}

// afresh begins every window anew, at the real time.
func afresh(ctx context.Context, g Gomega) {
	g.Expect(at.tenant.MoveClock(ctx, 0)).To(Succeed())
	g.Expect(at.tenant.ResetCounters(ctx)).To(Succeed())
}

// reply is an answer with what it says to have cost.
type reply struct {
	world.Answer
	tokens uint64
}

// send sends a request and reads the whole answer.
func send(ctx context.Context, g Gomega, r world.Request) reply {
	answer, err := on.Do(ctx, r)
	g.Expect(err).NotTo(HaveOccurred())
	return reply{Answer: answer, tokens: tokensIn(answer)}
}

// tokensIn are the total tokens that a reply tells, in one piece or at the end of a
// stream.
func tokensIn(a world.Answer) uint64 {
	var total uint64
	for line := range strings.Lines(a.Body) {
		var document struct {
			Usage struct {
				Total uint64 `json:"total_tokens"`
			} `json:"usage"`
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &document) == nil {
			total = max(total, document.Usage.Total)
		}
	}
	return total
}

// served sends a request that must be answered, and returns what it cost.
func served(ctx context.Context, g Gomega, r world.Request) uint64 {
	answer := send(ctx, g, r)
	g.Expect(answer.Status).To(Equal(http.StatusOK), answer.String)
	return answer.tokens
}

// refused sends a request for which there must be no room, and returns the limits that
// it found exhausted.
func refused(ctx context.Context, g Gomega, r world.Request) []world.Use {
	answer := send(ctx, g, r)
	g.Expect(answer.Status).To(Equal(http.StatusTooManyRequests), answer.String)
	g.Expect(answer.Decision).NotTo(BeNil())
	g.Expect(answer.Decision.Outcome).To(Equal(world.Limited))
	return slices.DeleteFunc(limitsOf(answer.Decision), func(u world.Use) bool { return !u.Over })
}

// exhaust asks until a limit is exhausted: the request that crosses it is served, and
// nothing after it.
func exhaust(ctx context.Context, g Gomega, a asking, limit uint64) {
	spent := uint64(0)
	for spent < limit {
		spent += served(ctx, g, a.chat(1))
	}
	g.Expect(spent).To(Equal((limit + cost(1) - 1) / cost(1) * cost(1)))
	refused(ctx, g, a.chat(1))
}

// limitsOf are the limits that a request was held against.
func limitsOf(d *world.Decision) []world.Use {
	var all []world.Use
	for _, step := range d.StepsOf("ratelimit-check") {
		all = append(all, step.Limits...)
	}
	return all
}

// counters are what is counted of a user at a model, in whatever limits.
func counters(ctx context.Context, g Gomega, a asking) []world.Use {
	all, err := a.tenant.Counters(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(all, func(u world.Use) bool {
		if u.Namespace != a.model.Key().String() {
			return true
		}
		for _, value := range u.Variables {
			if value == a.name {
				return false
			}
		}
		return true
	})
}

// counted are the values of the counters of a user at a model, the smallest first.
func counted(ctx context.Context, g Gomega, a asking) []uint64 {
	values := []uint64{}
	for _, u := range counters(ctx, g, a) {
		values = append(values, u.Value)
	}
	slices.Sort(values)
	return values
}

// free tells whether a request went on to its model although no limit was for it, and
// nothing says that it needs none.
func free(d *world.Decision) bool {
	return d != nil && (d.Outcome == world.Passed || d.Outcome == world.Unmatched || d.Outcome == world.Unconfigured) && len(limitsOf(d)) == 0
}

// later has the gateway's limiter take a later time for now.
func later(ctx context.Context, g Gomega, ahead time.Duration) {
	g.Expect(at.tenant.MoveClock(ctx, ahead)).To(Succeed())
}
