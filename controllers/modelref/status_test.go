// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref_test

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kserve"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

var _ = Describe("A model backed by an LLMInferenceService", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("is Ready when a ready backend stands behind an accepted route", func() {
		w.servedModel("granite")

		m := w.model(NewGomega(Fail), "granite")
		Expect(m.Status.Endpoint).To(Equal("https://" + host + "/" + w.namespace + "/granite"))
		Expect(m.Status.BaseURL).To(BeEmpty())
		Expect(m.Status.HTTPRouteName).To(Equal("granite-kserve-route"))
		Expect(m.Status.HTTPRouteNamespace).To(Equal(w.namespace))
		Expect(m.Status.HTTPRouteGatewayName).To(Equal(gatewayName))
		Expect(m.Status.HTTPRouteGatewayNamespace).To(Equal(gatewayNamespace))
		Expect(m.Status.HTTPRouteHostnames).To(Equal([]string{host}))
		Expect(m.Status.ObservedGeneration).To(Equal(m.Generation))
		Expect(m.Finalizers).To(ConsistOf(v1alpha1.FinalizerModelCleanup))
		Expect(w.condition("granite", "RuntimeReady")(NewGomega(Fail))).To(Equal("True/RuntimeHealthy"))
	})

	It("waits for its route and is Ready soon after it appears", func() {
		w.serve("granite", serviceReady())
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Pending/RouteNotFound"))

		w.acceptedRoute("granite")
		Eventually(w.says("granite"), 5*time.Second).Should(Equal("Ready/Reconciled"))
	})

	It("follows the readiness of the backend in both directions", func() {
		w.serve("granite", serviceNotReady("MinimumReplicasUnavailable", "no replica yet"))
		w.acceptedRoute("granite")
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Unhealthy/BackendNotReady"))
		Expect(w.endpoint("granite")(NewGomega(Fail))).To(BeEmpty())
		Expect(w.message("granite", "RuntimeReady")(NewGomega(Fail))).To(ContainSubstring("MinimumReplicasUnavailable"))

		w.kserveSays("granite", serviceReady())
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))

		w.kserveSays("granite", serviceNotReady("Crashed", ""))
		Eventually(w.says("granite")).Should(Equal("Unhealthy/BackendNotReady"))
		Expect(w.endpoint("granite")(NewGomega(Fail))).To(BeEmpty())
	})

	It("fails without its backend and recovers when it appears", func() {
		w.acceptedRoute("granite")
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Failed/BackendNotFound"))

		w.serve("granite", serviceReady())
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))
	})

	It("fails when its backend is deleted", func() {
		w.servedModel("granite")
		u := kserve.New(kserve.GroupKind.WithVersion("v1alpha2"))
		Expect(suite.Admin.Get(w.ctx, w.key("granite"), u)).To(Succeed())
		Expect(suite.Admin.Delete(w.ctx, u)).To(Succeed())
		Eventually(w.says("granite")).Should(Equal("Failed/BackendNotFound"))
	})

	It("is Ready although KServe holds its service back for the gateway's sake, and shows both", func() {
		w.serve("granite", serviceNotReady("WaitingForGateway", "no such gateway",
			serviceCondition("WorkloadsReady", "True"), serviceCondition("GatewaysReady", "False")))
		w.acceptedRoute("granite")
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))
		Expect(w.message("granite", "RuntimeReady")(NewGomega(Fail))).To(ContainSubstring("WaitingForGateway"))
	})

	It("fails at a route of another gateway and names both", func() {
		w.serve("granite", serviceReady())
		w.route("granite", at(otherGatewayName))
		w.gatewaySays("granite-kserve-route", otherGatewayName, accepted())
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Failed/RouteNotAccepted"))
		Expect(w.message("granite", "Ready")(NewGomega(Fail))).To(And(
			ContainSubstring(gatewayName), ContainSubstring(otherGatewayName), ContainSubstring("granite-kserve-route")))
		Expect(w.model(NewGomega(Fail), "granite").Status.HTTPRouteGatewayName).To(Equal(otherGatewayName))
	})

	It("waits at a route the gateway refuses and repeats the gateway's reason", func() {
		w.serve("granite", serviceReady())
		w.route("granite")
		w.gatewaySays("granite-kserve-route", gatewayName, refused("NotAllowedByListeners", "namespace not allowed"))
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Pending/RouteNotAccepted"))
		Expect(w.message("granite", "Ready")(NewGomega(Fail))).To(ContainSubstring("NotAllowedByListeners: namespace not allowed"))
	})

	It("waits at a route whose backends do not exist", func() {
		w.serve("granite", serviceReady())
		w.route("granite")
		w.gatewaySays("granite-kserve-route", gatewayName, accepted(), unresolved("BackendNotFound", "service not found"))
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Pending/RouteNotAccepted"))
		Expect(w.message("granite", "Ready")(NewGomega(Fail))).To(ContainSubstring("BackendNotFound"))
	})

	It("does not take another gateway's acceptance for its own", func() {
		w.serve("granite", serviceReady())
		w.route("granite", at(gatewayName, otherGatewayName))
		w.gatewaySays("granite-kserve-route", otherGatewayName, accepted())
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Pending/RouteNotAccepted"))

		w.gatewaySays("granite-kserve-route", gatewayName, accepted())
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))
	})

	It("forgets its route when the route is deleted", func() {
		w.servedModel("granite")
		Expect(suite.Admin.Delete(w.ctx, &gwapiv1.HTTPRoute{ObjectMeta: w.in("granite-kserve-route")})).To(Succeed())
		Eventually(w.says("granite")).Should(Equal("Pending/RouteNotFound"))
		status := w.model(NewGomega(Fail), "granite").Status
		Expect([]string{status.Endpoint, status.HTTPRouteName, status.HTTPRouteNamespace, status.HTTPRouteGatewayName, status.HTTPRouteGatewayNamespace}).
			To(HaveEach(BeEmpty()))
		Expect(status.HTTPRouteHostnames).To(BeEmpty())
	})

	It("finds a route that the service names itself, also when it comes late", func() {
		w.serve("granite", serviceReady(), "mine")
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Pending/RouteNotFound"))

		w.route("granite", named("mine"))
		w.gatewaySays("mine", gatewayName, accepted())
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))
		Expect(w.model(NewGomega(Fail), "granite").Status.HTTPRouteName).To(Equal("mine"))
	})

	It("prefers the route at the tenant's gateway among several", func() {
		w.serve("granite", serviceReady(), "aaa")
		w.route("granite", named("aaa"), at(otherGatewayName))
		w.gatewaySays("aaa", otherGatewayName, accepted())
		w.acceptedRoute("granite")
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Ready/Reconciled"))
		Expect(w.model(NewGomega(Fail), "granite").Status.HTTPRouteName).To(Equal("granite-kserve-route"))
	})

	It("follows an edit of its backend reference", func() {
		w.servedModel("granite")
		w.edit("granite", func(m *v1alpha1.MaaSModelRef) { m.Spec.ModelRef.Name = "llama" })
		Eventually(w.says("granite")).Should(Equal("Failed/BackendNotFound"))

		w.serve("llama", serviceReady())
		w.acceptedRoute("llama")
		Eventually(w.endpoint("granite")).Should(Equal("https://" + host + "/" + w.namespace + "/llama"))
	})

	It("publishes the override once it is Ready", func() {
		w.servedModel("granite")
		w.edit("granite", func(m *v1alpha1.MaaSModelRef) { m.Spec.EndpointOverride = "https://proxy.example.com/x" })
		Eventually(w.endpoint("granite")).Should(Equal("https://proxy.example.com/x"))

		w.kserveSays("granite", serviceNotReady("Crashed", ""))
		Eventually(w.endpoint("granite")).Should(BeEmpty())
	})

	It("takes the path URL at its own gateway whatever the order of addresses", func() {
		own := serviceAddress("gateway-external", "https://"+host+"/own/path")
		base := serviceAddress("gateway-external-model-routing", "https://"+host+"/")
		foreign := serviceAddress("gateway-external", "https://"+otherHost+"/own/path")
		w.serve("granite", serviceReady(foreign, base, own))
		w.serve("llama", serviceReady(own, base, foreign))
		for _, name := range []string{"granite", "llama"} {
			w.acceptedRoute(name)
			w.publish(name)
			Eventually(w.endpoint(name)).Should(Equal("https://" + host + "/own/path"))
			Expect(w.model(NewGomega(Fail), name).Status.BaseURL).To(Equal("https://" + host + "/"))
		}
	})

	It("follows addresses that come after readiness", func() {
		w.servedModel("granite")
		w.kserveSays("granite", serviceReady(serviceAddress("gateway-external", "https://"+host+"/late")))
		Eventually(w.endpoint("granite")).Should(Equal("https://" + host + "/late"))
	})

	It("never publishes a wildcard or another gateway's host", func() {
		w.serve("granite", serviceReady(serviceAddress("gateway-external", "https://"+otherHost+"/x")))
		w.acceptedRoute("granite", func(r *gwapiv1.HTTPRoute) { r.Spec.Hostnames = []gwapiv1.Hostname{"*.wild.example.com"} })
		w.publish("granite")
		Eventually(w.says("granite")).Should(Equal("Pending/EndpointUnknown"))
		Expect(w.message("granite", "Ready")(NewGomega(Fail))).To(ContainSubstring("endpointOverride"))
	})

	It("reports each change of readiness once", func() {
		w.servedModel("granite")
		w.kserveSays("granite", serviceNotReady("Crashed", ""))
		Eventually(w.says("granite")).Should(Equal("Unhealthy/BackendNotReady"))
		w.kserveSays("granite", serviceNotReady("Crashed", "", serviceCondition("WorkloadsReady", "False")))
		u := kserve.New(kserve.GroupKind.WithVersion("v1alpha2"))
		Expect(suite.Admin.Get(w.ctx, w.key("granite"), u)).To(Succeed())
		Expect(suite.Admin.Delete(w.ctx, u)).To(Succeed())

		// The last change was reported, so all before it have been.
		Eventually(w.events("granite")).Should(ContainElement("Warning BackendNotFound"))
		events := w.events("granite")(NewGomega(Fail))
		Expect(events).To(ContainElements("Normal Reconciled", "Warning BackendNotReady"))
		slices.Sort(events)
		Expect(slices.Compact(slices.Clone(events))).To(Equal(events), "an event was repeated")
	})

	It("writes nothing once it has converged, whatever happens around it", func() {
		w.servedModel("granite")
		mark := audit.Now()
		writes := func(to audit.Filter) func(Gomega) []audit.Event {
			return func(g Gomega) []audit.Event {
				events, err := suite.Env.Audit().After(mark, byOperator, inNamespace(w.namespace), to)
				g.Expect(err).NotTo(HaveOccurred())
				return events
			}
		}
		llama := audit.Named("llama")

		// Changes that mean nothing to the status: a label, another service, heartbeats.
		w.edit("granite", func(m *v1alpha1.MaaSModelRef) { m.Labels = map[string]string{"touched": "yes"} })
		w.serve("unrelated", serviceReady())
		status := serviceReady()
		status["conditions"] = append(status["conditions"].([]any), serviceCondition("MainWorkloadReady", "True"))
		w.kserveSays("granite", status)

		// Another model of the same kinds comes later: once it is written, all else was.
		w.servedModel("llama")
		Eventually(writes(llama)).ShouldNot(BeEmpty())
		Expect(writes(audit.Not(llama))(NewGomega(Fail))).To(BeEmpty())
	})
})

var _ = Describe("A model backed by an ExternalModel", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	external := func(m *v1alpha1.MaaSModelRef) { m.Spec.ModelRef.Kind = v1alpha1.BackendExternalModel }
	create := func(name string) {
		m := &v1alpha1.ExternalModel{ObjectMeta: w.in(name)}
		m.Spec = v1alpha1.ExternalModelSpec{
			Provider: "openai", TargetModel: "gpt", Endpoint: "api.example.com", CredentialRef: v1alpha1.CredentialReference{Name: "key"},
		}
		Expect(suite.Admin.Create(w.ctx, m)).To(Succeed())
	}

	It("fails without the ExternalModel, waits for its route and is then reachable at the gateway", func() {
		w.publish("gpt", external)
		Eventually(w.says("gpt")).Should(Equal("Failed/BackendNotFound"))

		create("gpt")
		Eventually(w.says("gpt")).Should(Equal("Pending/RouteNotFound"))

		w.route("gpt", named("maas-gpt"))
		w.gatewaySays("maas-gpt", gatewayName, accepted())
		Eventually(w.says("gpt")).Should(Equal("Ready/Reconciled"))
		Expect(w.endpoint("gpt")(NewGomega(Fail))).To(Equal("https://" + host))

		w.gatewaySays("maas-gpt", gatewayName, refused("NoMatchingParent", ""))
		Eventually(w.says("gpt")).Should(Equal("Pending/RouteNotAccepted"))
	})

	It("shows that two models share a name, and when they no longer do", func() {
		create("gpt")
		for _, name := range []string{"one", "two"} {
			w.publish(name, external, func(m *v1alpha1.MaaSModelRef) { m.Spec.ModelRef.Name = "gpt" })
		}
		Eventually(w.condition("one", "ModelIdentityUnique")).Should(Equal("False/ModelNameConflict"))
		Eventually(w.condition("two", "ModelIdentityUnique")).Should(Equal("False/ModelNameConflict"))
		Expect(w.message("one", "ModelIdentityUnique")(NewGomega(Fail))).To(ContainSubstring("two"))

		Expect(suite.Admin.Delete(w.ctx, &v1alpha1.MaaSModelRef{ObjectMeta: w.in("two")})).To(Succeed())
		Eventually(w.condition("one", "ModelIdentityUnique")).Should(Equal("True/UniqueIdentity"))
		Eventually(w.events("one")).Should(ContainElements("Warning ModelNameConflict", "Normal ModelNameConflictResolved"))
	})
})
