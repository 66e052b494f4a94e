// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package contributor_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/rig"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("A burst of subscriptions on one model", Ordered, func() {
	const count, writers = 300, 8
	var m governed

	BeforeAll(func(ctx SpecContext) {
		m = newModel(ctx)
		Eventually(phaseOf(ctx, m.allow("team"))).Should(Equal(v1alpha1.PhaseActive))
		quiet()
	})

	It("costs at most two status writes for each, though all have one priority (A06, W-18)", func() {
		mark, looks, begin := mark(), reconciles("subscription"), time.Now()
		m.subscribeAll(count, writers)
		created := time.Since(begin)
		Eventually(m.active).WithTimeout(2 * time.Minute).WithPolling(200 * time.Millisecond).Should(Equal(count))
		took := time.Since(begin)
		quiet()

		statuses := written(mark, "maassubscriptions/status")
		policies := written(mark, "tokenratelimitpolicies")
		looks = reconciles("subscription") - looks
		AddReportEntry("burst", fmt.Sprintf("%d created in %s, all Active after %s: %d status writes, %d writes of the policy, %d reconciles",
			count, created.Round(time.Millisecond), took.Round(time.Millisecond), len(statuses), len(policies), looks))
		// A busy machine stretches the burst, in which the policy is written at most
		// every two seconds.
		Expect(len(policies)).To(BeNumerically("<=", max(10, int(took/(2*time.Second)))))
		Expect(most(statuses)).To(BeNumerically("<=", 2))
		Expect(looks).To(BeNumerically("<=", 8*count), "looks at subscriptions")
		for _, s := range m.subscriptions() {
			Expect(s.Status.Conditions).To(ContainElement(And(
				HaveField("Type", string(v1alpha1.ConditionSpecPriorityDuplicate)), HaveField("Status", metav1.ConditionTrue))), s.Name)
		}
	})

	It("makes one more cost four calls, and no look at the others", func(ctx SpecContext) {
		mark, looks := mark(), reconciles("subscription")
		s := m.subscribe("one-more")
		Eventually(phaseOf(ctx, s)).Should(Equal(v1alpha1.PhaseActive))
		quiet()
		calls := requests(mark, audit.Not(audit.ByVerb(audit.VerbWatch)))
		AddReportEntry("one more", fmt.Sprint(calls))
		Expect(len(calls)).To(BeNumerically("<=", 5), fmt.Sprint(calls))
		Expect(calls).To(HaveEach(Or(HaveField("Name", s.Name), HaveField("Name", "maas-trlp-"+m.name), HaveField("Name", "maas-auth-"+m.name))))
		Expect(reconciles("subscription") - looks).To(BeNumerically("<=", 10))
	})

	It("leaves nothing to write for a controller that starts later", func(ctx SpecContext) {
		quiet()
		mark, looks := mark(), reconciles("subscription")
		suite.Operate(ctx, rig.Manager{SetUp: setUp})
		Eventually(func() int { return reconciles("subscription") - looks }).Should(BeNumerically(">=", count))
		quiet()
		Expect(requests(mark, audit.IsWrite())).To(BeEmpty())
	})
})

// subscribeAll creates many subscriptions from several goroutines.
func (m governed) subscribeAll(count, writers int) {
	GinkgoHelper()
	work := make(chan int)
	errs := make([]error, count)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range work {
				errs[i] = suite.Admin.Create(m.ctx, m.subscription(fmt.Sprintf("burst-%03d", i)).Obj())
			}
		})
	}
	for i := range count {
		work <- i
	}
	close(work)
	wg.Wait()
	Expect(errs).To(HaveEach(BeNil()))
}

// subscriptions lists those of the model.
func (m governed) subscriptions() []v1alpha1.MaaSSubscription {
	GinkgoHelper()
	var list v1alpha1.MaaSSubscriptionList
	Expect(suite.Admin.List(m.ctx, &list, client.InNamespace(tenantNamespace))).To(Succeed())
	var out []v1alpha1.MaaSSubscription
	for i := range list.Items {
		if strings.HasSuffix(list.Items[i].Name, m.namespace) {
			out = append(out, list.Items[i])
		}
	}
	return out
}

func (m governed) active() int {
	n := 0
	for _, s := range m.subscriptions() {
		if s.Status.Phase == v1alpha1.PhaseActive {
			n++
		}
	}
	return n
}

func mark() audit.Mark {
	GinkgoHelper()
	return audit.Now()
}

// requests are those of the operator after the mark.
func requests(mark audit.Mark, filters ...audit.Filter) []audit.Event {
	GinkgoHelper()
	events, err := suite.Env.Audit().After(mark, append([]audit.Filter{audit.ByUser(testenv.OperatorUser)}, filters...)...)
	Expect(err).NotTo(HaveOccurred())
	return events
}

// written are the operator's writes of a resource after the mark.
func written(mark audit.Mark, resource string) []audit.Event {
	GinkgoHelper()
	group := v1alpha1.GroupVersion.Group
	if strings.HasPrefix(resource, "tokenratelimit") {
		group = "kuadrant.io"
	}
	return requests(mark, audit.IsWrite(), audit.Succeeded(), audit.ByResource(group, resource))
}

// most is how many of the requests concern the object that has the most.
func most(events []audit.Event) int {
	counts, most := map[string]int{}, 0
	for i := range events {
		counts[events[i].Name]++
		most = max(most, counts[events[i].Name])
	}
	return most
}

// quiet waits until the operator has asked for nothing for longer than anything is
// collected.
func quiet() {
	GinkgoHelper()
	const longest = 3 * time.Second
	Eventually(func() ([]audit.Event, error) {
		return suite.Env.Audit().Events(audit.ByUser(testenv.OperatorUser), audit.Not(audit.ByVerb(audit.VerbWatch)), audit.Since(time.Now().Add(-longest)))
	}).WithContext(context.Background()).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).Should(BeEmpty())
}

// reconciles counts the reconciles of a controller so far.
func reconciles(controller string) int {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					total += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return int(total)
}
