// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"maps"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

var _ = Describe("The labels of usage", Ordered, func() {
	It("are accepted by Kuadrant's extension", func(ctx SpecContext) {
		for _, t := range on.Tenants() {
			policy, err := policyOf(ctx, t)
			Expect(err).NotTo(HaveOccurred())
			Expect(policy).NotTo(BeNil())
			Expect(on.AwaitEnforced(ctx, telemetryPolicies, builder.Key(t.Gateway.Namespace, t.Names.TelemetryPolicy()))).To(Succeed())
		}
	}, SpecTimeout(specTimeout))

	It("are what is known of each kind of caller, and every request is counted (A86, E-138, E-139)", func(ctx SpecContext) {
		for _, kind := range slices.Sorted(maps.Keys(at.callers)) {
			counted(ctx, kind, at.callers[kind])
		}
	}, SpecTimeout(specTimeout))

	It("of a tenant that says nothing name nobody (E-138)", func(ctx SpecContext) {
		counted(ctx, "the other tenant", at.red)
	}, SpecTimeout(specTimeout))

	It("cost nobody an answer who is refused, or asks maas-api", func(ctx SpecContext) {
		alice := at.callers["a token of the provider, "+plain]
		nobody := alice.chat()
		nobody.Headers = nil
		foreign := alice.chat()
		foreign.Headers = slices.Concat(alice.headers[:1], world.Headers(subscription, "of-nobody"))
		for what, c := range map[string]struct {
			request world.Request
			status  int
		}{
			"nobody":                  {nobody, http.StatusUnauthorized},
			"a foreign subscription":  {foreign, http.StatusForbidden},
			"models":                  {world.Request{Tenant: on.Default, Path: "/v1/models", Headers: alice.headers}, http.StatusOK},
			"health, without a token": {world.Request{Tenant: on.Default, Path: "/maas-api/health"}, http.StatusOK},
		} {
			answer, err := on.Do(ctx, c.request)
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Status).To(Equal(c.status), "%s: %s", what, answer)
			for _, step := range answer.Decision.Steps {
				Expect(step.Error).To(BeEmpty(), what)
			}
			Expect(reported(answer.Decision)).To(BeEmpty(), "%s is no use of a model", what)
		}
	}, SpecTimeout(specTimeout))

	It("go when telemetry is switched off, and requests are counted all the same (E-173)", func(ctx SpecContext) {
		Expect(setTelemetry(ctx, on.Default, &v1alpha1.TenantTelemetryConfig{Enabled: new(false)})).To(Succeed())
		Eventually(func(g Gomega) {
			policy, err := policyOf(ctx, on.Default)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(policy).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
		alice := at.callers["a key of somebody, "+billed]
		Eventually(func(g Gomega) {
			answer, err := on.Do(ctx, alice.chat())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer.Status).To(Equal(http.StatusOK))
			reports := answer.Decision.StepsOf("ratelimit-report")
			g.Expect(reports).NotTo(BeEmpty())
			for _, labels := range reported(answer.Decision) {
				g.Expect(labels).NotTo(HaveKey("cost_center"))
			}
		}).WithContext(ctx).Should(Succeed())
	}, SpecTimeout(specTimeout))
})

// counted has a caller use the model, and looks at what is counted.
func counted(ctx context.Context, kind string, c caller) {
	GinkgoHelper()
	answer, err := on.Do(ctx, c.chat())
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Status).To(Equal(http.StatusOK), "%s: %s", kind, answer)
	for _, step := range answer.Decision.Steps {
		Expect(step.Error).To(BeEmpty(), "%s: %s", kind, step.Type)
	}
	reports := slices.DeleteFunc(answer.Decision.StepsOf("ratelimit-report"), func(s world.Step) bool { return s.Result != "reported" })
	Expect(reports).NotTo(BeEmpty(), kind)
	for _, labels := range reported(answer.Decision) {
		Expect(labels).To(Equal(c.labels), kind)
	}
}
