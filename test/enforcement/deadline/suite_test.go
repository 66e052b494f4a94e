// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deadline shows what keeps requests from models when Authorino runs out of
// time. It then passes over the rules that it has not come to, and lets the request
// through: nobody is known, and limits that ask who it is are errors. With the failure
// mode that docs/operations/enforcement.md asks for such an error refuses the request.
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
	// tries is how often each request is sent: what is looked for happens to one of
	// about twenty.
	tries = 10
)

var fixture *cases.Fixture

func TestDeadline(t *testing.T) { world.RunSpecs(t, "an Authorino that runs out of time") }

// The time is short, and still enough on a busy machine for those who are answered.
var _ = world.Suite(world.Options{KuadrantEnv: []string{
	"AUTH_SERVICE_TIMEOUT=2s", "RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny",
}}, func(ctx SpecContext, w *world.World) (err error) {
	if fixture, err = cases.Prepare(ctx, w); err == nil {
		DeferCleanup(fixture.Release)
	}
	return err
})

var _ = Describe("While maas-api takes questions and never answers", func() {
	for _, c := range cases.Silence() {
		It("no request reaches a model: "+c.Name, func(ctx SpecContext) {
			for range tries {
				answer, problems, err := c.Run(ctx, fixture.Default)
				Expect(err).NotTo(HaveOccurred())
				Expect(problems).To(BeEmpty(), answer.String)
				for _, step := range answer.Decision.StepsOf("auth") {
					GinkgoWriter.Println("Authorino:", step.Result, step.Error)
				}
			}
		}, SpecTimeout(specTimeout))
	}
})
