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
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/opendatahub-io/maas-operator/test/enforcement/cases"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

const (
	// startTimeout is generous: with a cold cache it compiles all programs.
	startTimeout = 40 * time.Minute
	specTimeout  = 5 * time.Minute
	// tries is how often each request is sent: what is looked for happens to one of
	// about twenty.
	tries = 10
)

var (
	on      *world.World
	fixture *cases.Fixture
)

func TestDeadline(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	RunSpecs(t, "an Authorino that runs out of time")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	// The time is short, and still enough on a busy machine for those who are answered.
	on, err = world.Start(ctx, world.Options{Log: GinkgoWriter, KuadrantEnv: []string{
		"AUTH_SERVICE_TIMEOUT=2s", "RATELIMIT_CHECK_SERVICE_FAILURE_MODE=deny",
	}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(on.Stop)
	fixture, err = cases.Prepare(ctx, on)
	Expect(err).NotTo(HaveOccurred(), on.Say)
	DeferCleanup(fixture.Release)
}, NodeTimeout(startTimeout))

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
