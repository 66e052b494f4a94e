// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package callers

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
)

// What docs/tenants/access.md says that these policies do not cover: nobody puts the
// policy of a Gateway back while the operator is away, and the limits of the Gateway are
// no use without it, as they ask who is calling.
var _ = Describe("When the AuthPolicy of a Gateway is deleted while the operator is away", Serial, func() {
	It("routes without a policy of their own are open until it is back, and no others", func(ctx SpecContext) {
		side := fixture.Default
		tenant := side.Tenant
		bare := world.Request{Tenant: tenant, Path: side.Models.Bare.Path() + "/v1/models"}
		refused := func(a world.Answer) bool { return a.Status == http.StatusUnauthorized && a.Reached == nil }
		Expect(on.AwaitAnswer(ctx, bare, refused)).To(Succeed())

		Expect(on.Stage.Operator.Stop()).To(Succeed())
		policy := kuadrant.New(kuadrant.AuthPolicy)
		policy.SetNamespace(tenant.GatewayPolicy().Namespace)
		policy.SetName(tenant.GatewayPolicy().Name)
		Expect(on.Admin.Delete(ctx, policy)).To(Succeed())
		Expect(on.AwaitAnswer(ctx, bare, func(a world.Answer) bool { return a.Reached != nil })).To(Succeed())
		for what, path := range map[string]string{"a governed model": side.Models.Granite.Path() + "/v1/models", "maas-api": "/v1/models"} {
			answer, err := on.Do(ctx, world.Request{Tenant: tenant, Path: path})
			Expect(err).NotTo(HaveOccurred())
			Expect(refused(answer)).To(BeTrue(), what+": "+answer.String())
		}

		Expect(on.Stage.Operator.Start(ctx)).To(Succeed())
		Expect(on.AwaitAnswer(ctx, bare, refused)).To(Succeed())
		Expect(on.AwaitEnforced(ctx, kuadrant.AuthPolicy, tenant.GatewayPolicy())).To(Succeed())
	}, SpecTimeout(specTimeout))
})
