// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deadline shows what keeps requests from models, and from maas-api, when
// Authorino runs out of time. It then passes over the rules that it has not come to, and
// lets the request through without saying whose it is. A limit of nothing for nobody
// refuses it, with the settings that Kuadrant comes with.
package deadline

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

const (
	specTimeout = 5 * time.Minute
	// So many requests are sent at the same time, until Authorino has let one through,
	// but at most so often.
	atOnce, most = 10, 20
)

var fixture *cases.Fixture

func TestDeadline(t *testing.T) { world.RunSpecs(t, "an Authorino that runs out of time") }

// With the gateway's time alone, about one request of a hundred is let through: its
// answer has to come before the gateway gives up. Authorino's own time ends before it.
// It is still enough on a busy machine for those who are answered.
var _ = world.Suite(world.Options{Args: []string{cases.ByHand}, AuthorinoArgs: []string{"--timeout=2000"}}, func(ctx SpecContext, w *world.World) (err error) {
	if fixture, err = cases.Prepare(ctx, w); err == nil {
		DeferCleanup(fixture.Release)
	}
	return err
})

var _ = Describe("While maas-api takes questions and never answers", func() {
	for _, c := range cases.Silence() {
		It("no request gets anywhere: "+c.Name, func(ctx SpecContext) {
			sent, unknown := 0, 0
			for try := 0; try < most && unknown == 0; try++ {
				answers, problems, err := c.RunAtOnce(ctx, fixture.Default, atOnce)
				Expect(err).NotTo(HaveOccurred())
				Expect(problems).To(BeEmpty())
				for _, answer := range answers {
					sent++
					if letThrough(answer) {
						unknown++
					}
				}
			}
			AddReportEntry("let through by Authorino without saying whose it is", ReportEntryVisibilityAlways, []int{unknown, sent})
			Expect(unknown).To(BeNumerically(">", 0), "of %d requests, Authorino lets none through: the limit for nobody proves nothing", sent)
		}, SpecTimeout(specTimeout))
	}
})

// letThrough tells whether Authorino has let a request through of whose caller it said
// nothing. It was refused by a limit then, or the case has failed.
func letThrough(answer world.Answer) bool {
	for _, step := range answer.Decision.StepsOf("auth") {
		if step.Result == "allowed" && answer.Decision.Identity() == nil {
			Expect(answer.Decision.Outcome).To(Equal(world.Limited), answer.String)
			return true
		}
	}
	return false
}
