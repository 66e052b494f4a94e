// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// internalRoutes are what only the gateway's authorization server and jobs may ask.
func internalRoutes() []string {
	return []string{
		"POST " + validatePath, "POST " + selectPath, "POST " + cleanupPath, "DELETE " + tenantPath(service.Tenant),
	}
}

var _ = Describe("Internal routes", func() {
	It("are not on the gateway's list (W-1 fixed)", func(ctx SpecContext) {
		c := knownCorner()
		through := must(gateway.Client(service.Hostname)).Bearer(c.token())
		Expect(get(ctx, through, "/maas-api/health")).To(exactly(http.StatusOK, `{"status":"healthy"}`))
		Expect(get(ctx, through, "/v1/subscriptions")).To(exactly(http.StatusOK, `[]`))
		Expect(get(ctx, through, "/maas-api/v1/subscriptions")).To(exactly(http.StatusOK, `[]`))
		Expect(get(ctx, through, "/maas-api/v1/model/x/subscriptions")).To(exactly(http.StatusOK, `[]`))
		Expect(post(ctx, through, "/maas-api/v1/api-keys/search", nil)).To(answer(http.StatusOK, `"data":[]`))
		for _, route := range append(internalRoutes(), "GET /v1/tenants", "GET /metrics", "GET /readyz", "GET /openapi.json") {
			method, path, _ := strings.Cut(route, " ")
			for _, prefix := range []string{"", "/maas-api", "/maas-api/v1/models/..", "/maas-api/v1/models/%2e%2e", "/maas-api/v1/models/../.."} {
				Expect(do(ctx, through, method, prefix+path, nil).Status).To(Equal(http.StatusNotFound), "%s %s%s", method, prefix, path)
			}
		}
	})

	It("refuse what came through a gateway even by a route that rewrites everything, as earlier releases had (W-1 fixed)", func(ctx SpecContext) {
		route := builder.Route(service.Account().Namespace, "maas-api-route", service.GatewayNamespace, service.GatewayName).
			Hostnames(legacyHostname).Path("/maas-api").Unlabelled().Obj()
		route.Namespace = service.Tenant
		rule := &route.Spec.Rules[0]
		rule.Filters = []gwapiv1.HTTPRouteFilter{{Type: gwapiv1.HTTPRouteFilterURLRewrite, URLRewrite: &gwapiv1.HTTPURLRewriteFilter{
			Path: &gwapiv1.HTTPPathModifier{Type: gwapiv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new("/")},
		}}}
		rule.BackendRefs = []gwapiv1.HTTPBackendRef{{BackendRef: gwapiv1.BackendRef{BackendObjectReference: gwapiv1.BackendObjectReference{
			Namespace: new(gwapiv1.Namespace(service.Account().Namespace)), Name: "maas-api", Port: new(gwapiv1.PortNumber(8443)),
		}}}}
		publish(ctx, route)
		c := knownCorner()
		through := must(gateway.Client(legacyHostname)).Bearer(c.token())
		Eventually(func() service.Response { return get(ctx, through, "/maas-api/v1/subscriptions") }).Should(exactly(http.StatusOK, `[]`))

		owner, name := member()
		key := newKey(ctx, owner)
		before := series(ctx, api, "maas_api_internal_refused_total")
		for _, path := range internalRoutes() {
			method, path, _ := strings.Cut(path, " ")
			got := do(ctx, through, method, "/maas-api"+path, map[string]string{"key": key.Key, "username": name})
			Expect(got).To(answer(http.StatusNotFound, "404 page not found"), path)
		}
		Expect(series(ctx, api, "maas_api_internal_refused_total")).To(Equal(before + float64(len(internalRoutes()))))
		Expect(verdict(ctx, api, key.Key).Valid).To(BeTrue(), "nothing was revoked")
	})

	DescribeTable("refuse a request with what only a gateway adds", func(ctx SpecContext, header string) {
		marked := api.Client().With(header, "x")
		for _, route := range internalRoutes() {
			method, path, _ := strings.Cut(route, " ")
			Expect(do(ctx, marked, method, path, nil).Status).To(Equal(http.StatusNotFound), path)
		}
	},
		Entry("a user name", service.HeaderUsername), Entry("a group", "x-maas-group"), Entry("anything of the kind", "X-MaaS-Whatever"),
		Entry("the path before its rewrite", "X-Envoy-Original-Path"), Entry("the address of a client", "X-Forwarded-For"),
	)

	It("have a listener of their own where that is wanted, which is then the only one", func(ctx SpecContext) {
		r := up(ctx, service.ReplicaOptions{Name: unique("apart"), Internal: true})
		owner, user := member()
		key := newKey(ctx, owner)
		Expect(verdict(ctx, r, key.Key)).To(HaveField("Username", user))
		public := r.PublicOnly()
		for _, route := range internalRoutes() {
			method, path, _ := strings.Cut(route, " ")
			Expect(do(ctx, public, method, path, object{"key": key.Key}).Status).To(Equal(http.StatusNotFound), path)
		}
		for _, path := range []string{modelsPath, subscriptionsPath, tenantsPath} {
			Expect(get(ctx, r.InternalOnly().Unchecked(), path).Status).To(Equal(http.StatusNotFound), path)
		}
		Expect(r.Stop()).To(Succeed())
	})
})
