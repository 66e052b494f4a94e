// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package latency

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/internal/installation"
)

const (
	specTimeout = 20 * time.Minute

	// gentle is a rate at which nobody waits for others: of keys that it does not hold
	// maas-api looks up 500 in a second at most.
	gentle        = 50
	gentleClients = 8
)

var clients = []int{1, 8, 32}

// The order matters: in the last spec maas-api holds no keys, and the operator does not
// run.
var _ = Describe("Authorino", Ordered, func() {
	It("asks maas-api twice about what it does not know, and never about what it does", func(ctx SpecContext) {
		seconds := (warmUp + *measure).Seconds() * float64(*rounds*len(clients))
		Expect(fixture.store(ctx, int(seconds*keysPerSecond))).To(Succeed())
		var all []*figures
		for _, n := range clients {
			all = append(all, inTurn(ctx, n, 0)...)
		}
		AddReportEntry("answers of Authorino, each client asking again as soon as it has one", ReportEntryVisibilityAlways, table(all))
	}, SpecTimeout(specTimeout))

	It("asks no more often when maas-api has to look keys up", func(ctx SpecContext) {
		Expect(fixture.store(ctx, gently())).To(Succeed())
		all := inTurn(ctx, gentleClients, gentle)
		Expect(fixture.Stage.Operator.Stop()).To(Succeed()) // It would take the setting back.
		Expect(fixture.forgetKeys(ctx)).To(Succeed())
		Expect(fixture.StoreKeys(ctx, fixture.ring, fixture.stored, gently())).To(Succeed())
		fixture.next = fixture.stored
		all = append(all, once(ctx, unknown, gentleClients, gentle))
		AddReportEntry(fmt.Sprintf("answers of Authorino, asked %d times a second", gentle), ReportEntryVisibilityAlways, table(all))
	}, SpecTimeout(specTimeout))
})

// gently is how many keys are enough for all rounds at the gentle rate.
func gently() int {
	return int((warmUp+*measure).Seconds()*gentle+gentleClients+1) * *rounds
}

// inTurn measures each kind of answers in each round, so that what else the machine does
// befalls all of them.
func inTurn(ctx context.Context, clients int, rate float64) []*figures {
	GinkgoHelper()
	kinds := []string{alone, warm, cold}
	all := make([]*figures, len(kinds))
	for range *rounds {
		for i, kind := range kinds {
			f := once(ctx, kind, clients, rate)
			if all[i] == nil {
				all[i] = f
				continue
			}
			all[i].add(f)
		}
	}
	return all
}

// once measures, and expects as many questions as the kind of answers allows.
func once(ctx context.Context, kind string, clients int, rate float64) *figures {
	GinkgoHelper()
	f, err := fixture.run(ctx, kind, clients, rate)
	Expect(err).NotTo(HaveOccurred())
	want := f.asked - f.failed
	if kind == alone || kind == warm {
		want = 0
	}
	Expect(f.asked).To(BeNumerically(">", 0), kind) // Whether an answer came in time the machine decides.
	Expect(f.spent.validations).To(BeNumerically("==", want), "%s: validations", kind)
	Expect(f.spent.selections).To(BeNumerically("==", want), "%s: selections", kind)
	Expect(f.spent.refusals).To(BeNumerically("==", f.failed), "%s: refusals", kind)
	if kind == unknown {
		// One that comes too late for its request counts as well.
		Expect(f.spent.lookUps).To(BeNumerically(">=", want), "%s: keys looked up in the database", kind)
	}
	return f
}

// forgetKeys starts the tenant's maas-api with room for one key, and returns when no
// other one runs any more.
func (p *prepared) forgetKeys(ctx context.Context) error {
	const room = "maas_api_key_index_max_entries"
	before, err := p.MaaSAPIMetrics(ctx)
	if err != nil {
		return err
	}
	deployment := &appsv1.Deployment{}
	deployment.Namespace, deployment.Name = installation.Namespace, p.Default.Names.MaaSAPI()
	err = world.Change(ctx, p.World, deployment, func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		container.Env = append(container.Env, corev1.EnvVar{Name: "KEY_CACHE_MAX_ENTRIES", Value: "1"})
	})
	if err != nil {
		return err
	}
	return world.Eventually(ctx, "the former maas-api to end", func(ctx context.Context) error {
		page, err := p.MaaSAPIMetrics(ctx)
		if err == nil && page.Sum(room) >= before.Sum(room) {
			err = fmt.Errorf("there is room for %.0f keys", page.Sum(room))
		}
		return err
	})
}
