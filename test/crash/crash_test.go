// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// The specs go on from each other's end, so they run in this order.
var _ = Describe("An operator that is killed in a burst", Ordered, func() {
	var shaken, calm *corner
	var happened []happening
	var uids map[string]types.UID

	BeforeAll(func(ctx SpecContext) {
		shaken, calm = newCorner(ctx), newCorner(ctx)
		shaken.before(ctx)
		calm.before(ctx)
		Expect(on.Operator.Start(ctx)).To(Succeed())
		shaken.converges(ctx)
		calm.converges(ctx)
		uids = shaken.uids(ctx)
	}, NodeTimeout(startTimeout))

	It("ends in what the objects ask for", func(ctx SpecContext) {
		r := record(ctx)
		begin := time.Now()
		due, ended := make(chan time.Duration, *crashes), make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(ended)
			for pause := range due { // Nothing waits for the operator's return.
				crash(ctx)
				after(ctx, pause)
			}
		}()
		moments := crashMoments()
		shaken.burst(ctx, func(done int) {
			for len(moments) > 0 && done >= moments[0].done {
				due <- moments[0].pause
				moments = moments[1:]
			}
		})
		close(due)
		Expect(moments).To(BeEmpty(), "moments at which the operator should have been killed")
		Eventually(ended).Should(BeClosed())
		created := time.Since(begin)
		shaken.converges(ctx)
		AddReportEntry("burst", fmt.Sprintf("%d subscriptions, %d crashes: changed in %s, settled after %s",
			*size, *crashes, created.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond)))
		happened = r.stop()
	})

	It("never leaves a model without its policies, nor a subscription without its limit", func() {
		versions := 0
		for _, e := range happened {
			if e.object.GetKind() == "TokenRateLimitPolicy" && e.object.GetNamespace() == shaken.namespace {
				versions++
			}
		}
		AddReportEntry("versions of limit policies seen", versions)
		Expect(versions).To(BeNumerically(">", models), "a watcher that sees nothing proves nothing")
		Expect(violations(happened)).To(BeEmpty())
	})

	It("changes policies in place", func(ctx SpecContext) {
		Expect(shaken.uids(ctx)).To(Equal(uids))
	})

	It("writes nothing after another restart", func(ctx SpecContext) {
		quiet(ctx)
		mark := audit.Now()
		crash(ctx)
		Eventually(func() (int, error) { return reconciles(ctx, "subscription") }).Should(BeNumerically(">=", len(shaken.facts(ctx).Subscriptions)))
		Eventually(func() (int, error) { return reconciles(ctx, "modelpolicy") }).Should(BeNumerically(">=", 2*models))
		written := func(filter audit.Filter) func() ([]audit.Event, error) {
			return func() ([]audit.Event, error) {
				return on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), filter)
			}
		}
		Consistently(written(audit.Stored())).WithTimeout(settled).Should(BeEmpty())
		asked, err := written(audit.Not(audit.Stored()))()
		Expect(err).NotTo(HaveOccurred())
		Expect(len(asked)).To(BeNumerically("<=", 2*2*models), "at most one question for each generated policy: %v", asked)
	})

	It("ends in the same as one that is left alone", func(ctx SpecContext) {
		r := record(ctx)
		begin := time.Now()
		calm.burst(ctx, func(int) {})
		calm.converges(ctx)
		AddReportEntry("calm burst", fmt.Sprintf("settled after %s", time.Since(begin).Round(time.Millisecond)))
		Expect(violations(r.stop())).To(BeEmpty())
		Expect(gocmp.Diff(calm.policies(ctx), shaken.policies(ctx))).To(BeEmpty(), "(-calm +shaken)")
	})
})

// settled is how long nothing has to happen.
const settled = 4 * time.Second

// crash kills the operator and starts it again.
func crash(ctx context.Context) {
	GinkgoHelper()
	Expect(on.Operator.Kill()).To(Succeed())
	Expect(on.Operator.Start(ctx)).To(Succeed())
}

// after waits.
func after(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// moment is one at which the operator is killed.
type moment struct {
	// done is how many objects the burst has made by then.
	done int
	// pause is how long the operator then has until it can be killed again.
	pause time.Duration
}

func crashMoments() []moment {
	const longest = 700
	r := rand.New(rand.NewPCG(*seed, 2)) // The same every time.
	var out []moment
	for range *crashes {
		out = append(out, moment{done: *size/10 + r.IntN(*size*8/10), pause: time.Duration(r.IntN(longest)) * time.Millisecond})
	}
	slices.SortFunc(out, func(a, b moment) int { return cmp.Compare(a.done, b.done) })
	return out
}

// uids tells one generated policy from its successor.
func (c *corner) uids(ctx context.Context) map[string]types.UID {
	GinkgoHelper()
	out := map[string]types.UID{}
	facts := c.facts(ctx)
	for i := range facts.Policies {
		out[facts.Policies[i].GetKind()+" "+facts.Policies[i].GetName()] = facts.Policies[i].GetUID()
	}
	Expect(out).To(HaveLen(2 * models))
	return out
}

// quiet waits until the operator has had nothing to write for a while.
func quiet(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() ([]audit.Event, error) {
		return on.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Since(time.Now().Add(-settled)))
	}).WithContext(ctx).Should(BeEmpty())
}

// reconciles counts the finished reconciles of a controller since the operator's
// start, by its own metrics.
func reconciles(ctx context.Context, controller string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, on.Operator.MetricsURL(), http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask for metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask for metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	sum := 0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), `controller_runtime_reconcile_total{controller="`+controller+`"`); ok {
			_, value, _ := strings.Cut(rest, "} ")
			count, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("read metrics: %w", err)
			}
			sum += int(count)
		}
	}
	return sum, nil
}
