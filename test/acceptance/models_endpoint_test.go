// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// Names under which KServe lists addresses.
const (
	pathAddress = "gateway-external"
	baseAddress = "gateway-external-model-routing"
)

var _ = Describe("The endpoint of a model", func() {
	const ours, theirs = "https://" + stage.Hostname, "https://" + otherHost
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	// at publishes a model whose server lists addresses, behind a route.
	at := func(route *builder.RouteBuilder, addresses ...any) types.NamespacedName {
		GinkgoHelper()
		w.create(route.Obj())
		w.spokenFor("granite", serverReady(addresses...))
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		return granite
	}
	// derived is the URL that follows from the route alone.
	derived := func() string { return ours + "/" + w.namespace + "/granite" }

	DescribeTable("is chosen among the addresses the model server lists", func(want string, addresses ...any) {
		granite := at(w.modelRoute("granite"), addresses...)
		if want == "" {
			want = derived()
		}
		Expect(w.modelEndpoint(granite)()).To(Equal(want))
	},
		Entry("by the host of the model's gateway, a foreign one first (9.2.38, A43)", ours+"/own",
			serverAddress(pathAddress, theirs+"/own"), serverAddress(pathAddress, ours+"/own")),
		Entry("by that host, the foreign one last (9.2.38, A43)", ours+"/own",
			serverAddress(pathAddress, ours+"/own"), serverAddress(pathAddress, theirs+"/own")),
		Entry("never at another gateway: without one of its own it follows from the route (9.2.39, A43)", "",
			serverAddress(pathAddress, theirs+"/own"), serverAddress(baseAddress, theirs+"/")),
		Entry("never inside the cluster (decides 9.2.41)", "",
			serverAddress("gateway-internal", "https://granite."+"svc.cluster.local/own"), serverAddress("", "https://granite.llm.svc.cluster.local")),
		Entry("https before http (9.2.42)", ours+"/own",
			serverAddress(pathAddress, "http://"+stage.Hostname+"/own"), serverAddress(pathAddress, ours+"/own")),
		Entry("whatever the letter case of the host (9.2.43)", "https://MAAS.Example.COM/own",
			serverAddress(pathAddress, "https://MAAS.Example.COM/own")),
		Entry("but for those without name, URL or host (9.2.44)", ours+"/own",
			map[string]any{"url": "https://"}, serverAddress(pathAddress, "/own"), serverAddress(pathAddress, "https:///own"), serverAddress(pathAddress, ours+"/own")),
		Entry("but for names it does not know (B33)", ours+"/own",
			serverAddress("gateway-external-stable", ours+"/stable"), serverAddress(pathAddress, ours+"/own")),
	)

	DescribeTable("is the path URL beside the base URL for routing by body, in either order (A44; decides 9.2.45)", func(addresses ...any) {
		granite := at(w.modelRoute("granite"), addresses...)
		Expect(w.modelRef(granite).Status).To(And(HaveField("Endpoint", ours+"/own"), HaveField("BaseURL", ours+"/")))
	},
		Entry("base first", serverAddress(baseAddress, ours+"/"), serverAddress(pathAddress, ours+"/own")),
		Entry("path first", serverAddress(pathAddress, ours+"/own"), serverAddress(baseAddress, ours+"/")),
	)

	It("is the base URL when there is no other (A44)", func() {
		route := builder.Route(w.namespace, "granite", stage.GatewayNamespace, stage.GatewayName).Hostnames(stage.Hostname)
		granite := at(route, serverAddress(baseAddress, ours+"/"))
		Expect(w.modelRef(granite).Status).To(And(HaveField("Endpoint", ours+"/"), HaveField("BaseURL", ours+"/")))
	})

	It("is at the gateway's own host when the route names none, never at another gateway's (decides 9.2.40)", func() {
		granite := at(w.modelRoute("granite").Hostnames(), serverAddress(pathAddress, theirs+"/own"))
		Expect(w.modelEndpoint(granite)()).To(Equal(derived()))
	})

	It("has namespace and name of the backend in its path when nobody lists an address (W-26)", func() {
		Expect(w.modelEndpoint(at(w.modelRoute("granite")))()).To(Equal(derived()))
	})

	It("is never at a wildcard (W-26)", func() {
		granite := at(w.modelRoute("granite").Hostnames("*.example.com"), serverAddress(pathAddress, "https://*.example.com/own"))
		Expect(w.modelEndpoint(granite)()).To(Equal(derived()))
	})

	It("follows addresses that come after readiness (B33)", func() {
		w.create(w.modelRoute("granite").Obj())
		server := w.spokenFor("granite", serverReady())
		granite := w.publish("granite")
		Eventually(w.modelEndpoint(granite)).Should(Equal(derived()))
		w.serverSays(server, serverReady(serverAddress(pathAddress, ours+"/late")))
		Eventually(w.modelEndpoint(granite)).Should(Equal(ours + "/late"))
	})

	It("is that of the route the model's gateway serves, whatever the routes are called (W-26)", func() {
		w.create(w.modelRoute("aaa").Of("granite").Below(otherGateway).Obj(), w.modelRoute("zzz").Of("granite").Obj())
		w.spokenFor("granite", serverReady())
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelRef(granite).Status.HTTPRouteName).To(Equal("zzz"))
	})

	It("is not at a Service that is called like the gateway (W-26)", func() {
		route := w.modelRoute("granite").Obj()
		route.Spec.ParentRefs[0].Group, route.Spec.ParentRefs[0].Kind = new(gwapiv1.Group("")), new(gwapiv1.Kind("Service"))
		w.create(route)
		w.spokenFor("granite", serverReady())
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Failed/RouteNotAccepted"))
		Expect(w.modelEndpoint(granite)()).To(BeEmpty())
	})
})
