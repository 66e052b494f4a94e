// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/internal/desired/tenantstatus"
)

// What docs/quotas.md says that a path of a model costs in kuadrant-<gateway>, and a
// model in the Limitador object, in bytes.
const (
	bytesOfPath   = 2850.0
	bytesOfLimits = 810.0
)

// figures are what was measured with a number of models.
type figures struct {
	models, added int
	// filter and limits are the sizes of the objects, in bytes.
	filter, limits int
	// missing are the models that the filter does not know, because its configuration
	// became too large to be stored.
	missing int
	// kuadrant and authorino are what those hold in memory, in MiB.
	kuadrant, authorino int
	// enforced is the time from the first creation until all policies were enforced,
	// configured until the filter had all of them.
	enforced, configured time.Duration
	// edited is the time from a change of a subscription until its limits are enforced.
	edited time.Duration
}

var _ = Describe("Kuadrant", Ordered, func() {
	var (
		on    *installation
		taken []figures
	)

	BeforeAll(func(ctx SpecContext) {
		on = install(ctx)
	}, NodeTimeout(startTimeout))

	AfterEach(func() {
		on.say()
		on.alive()
	})

	AfterAll(func() {
		AddReportEntry("what many models come to", table(taken))
	})

	It("enforces the policies of any number of models", func(ctx SpecContext) {
		for _, count := range models {
			taken = append(taken, on.grow(ctx, taken, count))
			grownAsBefore(taken)
		}
	}, SpecTimeout(time.Duration(len(models))*growTimeout))
})

// grow adds models until there are as many, and measures.
func (on *installation) grow(ctx context.Context, taken []figures, count int) figures {
	GinkgoHelper()
	before := 0
	if len(taken) > 0 {
		before = taken[len(taken)-1].models
	}
	all := namesOf(count)
	f := figures{models: count, added: count - before}
	begin := time.Now()
	on.publish(ctx, all[before:]...)
	Eventually(on.judged.waiting(ctx, all...)).WithTimeout(growTimeout).WithPolling(time.Second).Should(BeEmpty())
	f.enforced = time.Since(begin)
	Eventually(func() []string {
		missing := unconfigured(on.filter(ctx), all)
		if f.missing = len(missing); f.missing > 0 && on.refused() {
			return nil
		}
		return missing
	}).WithPolling(time.Second).Should(BeEmpty(), "not in the filter")
	f.configured = time.Since(begin)
	f.filter, f.limits = sizeOf(on.filter(ctx)), sizeOf(on.limitador(ctx))
	f.kuadrant, f.authorino = memoryOf(ctx, on.kuadrant.Metrics), memoryOf(ctx, on.authorino.Metrics)
	Eventually(on.warned(ctx)).Should(Equal(f.missing > 0 || f.filter*2 >= tenantstatus.MaxConfiguration), "a warning about %d bytes that lack %d models", f.filter, f.missing)
	f.edited = on.edit(ctx, all[count-1], int64(1000+count))
	GinkgoWriter.Println(f.row())
	return f
}

// grownAsBefore holds when the models that came last cost what all models cost: what
// docs/quotas.md counts on.
func grownAsBefore(taken []figures) {
	GinkgoHelper()
	if len(taken) < 2 || taken[len(taken)-1].missing > 0 {
		return
	}
	before, last := taken[len(taken)-2], taken[len(taken)-1]
	added := last.added * *paths
	Expect(float64(last.filter-before.filter)/float64(added)).To(BeNumerically("~", bytesOfPath, bytesOfPath/4), "bytes of a path")
	Expect(float64(last.limits-before.limits)/float64(last.added)).To(BeNumerically("~", bytesOfLimits, bytesOfLimits/4), "bytes of a model's limits")
}

// edit changes a subscription and returns how long it took until that was enforced.
func (on *installation) edit(ctx context.Context, name string, limit int64) time.Duration {
	GinkgoHelper()
	before := must(on.judged.generation(ctx, name))
	begin := time.Now()
	on.raise(ctx, name, limit)
	Eventually(func() (int64, error) { return on.judged.generation(ctx, name) }).Should(BeNumerically(">", before))
	Eventually(on.judged.waiting(ctx, name)).Should(BeEmpty())
	return time.Since(begin)
}

func table(taken []figures) string {
	out := "| models | of them new | bytes of kuadrant-<gateway> | models that are not in it | bytes of Limitador | MiB of Kuadrant | MiB of Authorino " +
		"| all enforced after | all in kuadrant-<gateway> after | an edit enforced after |\n|---|---|---|---|---|---|---|---|---|---|\n"
	for _, f := range taken {
		out += f.row()
	}
	return out
}

func (f figures) row() string {
	return fmt.Sprintf("| %d | %d | %d | %d | %d | %d | %d | %.1f s | %.1f s | %.1f s |\n", f.models, f.added, f.filter, f.missing, f.limits,
		f.kuadrant, f.authorino, f.enforced.Seconds(), f.configured.Seconds(), f.edited.Seconds())
}
