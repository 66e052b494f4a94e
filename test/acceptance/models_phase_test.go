// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"strings"
	"time"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/standins/kserve"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// failServer makes the model server of a model not ready; an empty message heals it.
func (w world) failServer(server types.NamespacedName, message string) {
	GinkgoHelper()
	u := builder.ModelServer(server.Namespace, server.Name)
	w.edit(u, func() {
		u.SetAnnotations(nil)
		if message != "" {
			u.SetAnnotations(map[string]string{kserve.AnnotationNotReady: message})
		}
	})
}

var _ = Describe("The phase of a model", func() {
	var w world
	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("is Ready, with the discovered endpoint, when a ready backend stands behind an accepted route (9.1.2)", func() {
		w.create(w.modelRoute("granite").Obj(), builder.ModelServer(w.namespace, "granite"))
		granite := w.publish("granite")
		w.pair(granite)
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		status := w.modelRef(granite).Status
		Expect(status.Endpoint).To(Equal("https://" + stage.Hostname + "/" + w.namespace + "/granite"))
		Expect([]string{status.HTTPRouteNamespace, status.HTTPRouteName, status.HTTPRouteGatewayNamespace, status.HTTPRouteGatewayName}).
			To(Equal([]string{w.namespace, "granite", stage.GatewayNamespace, stage.GatewayName}))
		Expect(status.HTTPRouteHostnames).To(ConsistOf(stage.Hostname))
	})

	It("is Ready without anybody to govern it, which is a condition of its own (decides 9.1.21)", func() {
		granite := w.model("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("False/NoPairingFound"))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionRuntimeReady)()).To(Equal("True/RuntimeHealthy"))
	})

	It("is Ready at spec.endpointOverride, where there is one (9.1.3)", func() {
		w.create(w.modelRoute("granite").Obj(), builder.ModelServer(w.namespace, "granite"),
			builder.ModelRef(w.namespace, "granite").Override("https://front.example.com/granite").Obj())
		granite := builder.Key(w.namespace, "granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelEndpoint(granite)()).To(Equal("https://front.example.com/granite"))
	})

	DescribeTable("never comes to an override that would lead clients astray: the API server refuses it (W-33)", func(url string) {
		err := on.Admin.Create(w.ctx, builder.ModelRef(w.namespace, "granite").Override(url).Obj())
		Expect(err).To(MatchError(And(ContainSubstring("spec.endpointOverride"), ContainSubstring("https"))))
	},
		Entry("plain http", "http://front.example.com/granite"),
		Entry("no host", "https:///granite"),
		Entry("credentials", "https://me:secret@front.example.com/granite"),
		Entry("a query", "https://front.example.com/granite?to=evil.example.com"),
	)

	It("is Unhealthy while the backend is not ready, and follows it both ways; governance stays what it is (9.1.4, 9.1.5, 9.1.6, A42)", func() {
		granite := w.model("granite")
		w.pair(granite)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))

		w.failServer(granite, "out of memory")
		Eventually(w.modelWords(granite, v1alpha1.ConditionReady)).Should(ContainSubstring("out of memory"))
		Expect(w.modelSays(granite)()).To(Equal("Unhealthy/BackendNotReady"))
		Expect(w.modelEndpoint(granite)()).To(BeEmpty())
		Expect(w.modelVerdict(granite, v1alpha1.ConditionRuntimeReady)()).To(Equal("False/RuntimeHealthFailure"))
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("True/GovernancePaired"))

		w.failServer(granite, "")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelEndpoint(granite)()).NotTo(BeEmpty())
	})

	It("is Pending without a route and Ready soon after it appears, without a restart (9.1.14, A41)", func() {
		w.create(builder.ModelServer(w.namespace, "granite"))
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Pending/RouteNotFound"))
		Expect(w.modelWords(granite, v1alpha1.ConditionReady)()).To(ContainSubstring("spec.router.route"))

		w.create(w.modelRoute("granite").Obj())
		Eventually(w.modelSays(granite)).WithTimeout(10 * time.Second).Should(Equal("Ready/Reconciled"))
	})

	It("is Pending again when the route goes, with nothing left of it in the status and everything else judged anew (W-25)", func() {
		route := w.modelRoute("granite").Obj()
		w.create(route, builder.ModelServer(w.namespace, "granite"))
		granite := w.publish("granite")
		_, paid := w.pair(granite)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))

		w.removeAll(route)
		Eventually(w.modelSays(granite)).Should(Equal("Pending/RouteNotFound"))
		status := w.modelRef(granite).Status
		Expect([]string{status.Endpoint, status.BaseURL, status.HTTPRouteName, status.HTTPRouteNamespace, status.HTTPRouteGatewayName, status.HTTPRouteGatewayNamespace}).
			To(HaveEach(BeEmpty()))
		Expect(status.HTTPRouteHostnames).To(BeEmpty())
		Expect(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)()).To(Equal("True/GovernancePaired"))
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionRuntimeReady)).Should(Equal("False/RuntimeHealthFailure"))

		w.removeAll(paid)
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("False/GovernanceGap"))
	})

	It("is Failed without its backend, which the message names, until that exists (2.4)", func() {
		w.create(w.modelRoute("granite").Obj())
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Failed/BackendNotFound"))
		Expect(w.modelWords(granite, v1alpha1.ConditionReady)()).To(And(ContainSubstring("LLMInferenceService granite"), ContainSubstring("spec.modelRef")))

		w.create(builder.ModelServer(w.namespace, "granite"))
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
	})

	It("does not depend on a model server of the name of its ExternalModel (9.1.7)", func() {
		w.create(builder.ModelRef(w.namespace, "granite").Backend(v1alpha1.BackendExternalModel, "granite").Obj())
		granite := builder.Key(w.namespace, "granite")
		Eventually(w.modelSays(granite)).Should(Equal("Failed/BackendNotFound"))
		w.create(w.modelRoute("granite").Obj(), builder.ModelServer(w.namespace, "granite"),
			builder.ModelRef(w.namespace, "server").Backend(v1alpha1.BackendLLMInferenceService, "granite").Obj())
		Eventually(w.modelSays(builder.Key(w.namespace, "server"))).Should(Equal("Ready/Reconciled"))
		Expect(w.modelSays(granite)()).To(Equal("Failed/BackendNotFound"))
	})

	It("does not depend on a model server of another namespace (9.1.8)", func(ctx SpecContext) {
		elsewhere := newWorld(ctx)
		granite, there := w.publish("granite"), elsewhere.model("granite")
		Eventually(elsewhere.modelSays(there)).Should(Equal("Ready/Reconciled"))
		Eventually(w.modelSays(granite)).Should(Equal("Failed/BackendNotFound"))
	})

	It("is the same for two models of one server (9.1.9)", func() {
		granite := w.model("granite")
		w.create(builder.ModelRef(w.namespace, "again").Backend(v1alpha1.BackendLLMInferenceService, "granite").Obj())
		again := builder.Key(w.namespace, "again")
		for _, message := range []string{"", "out of memory", ""} {
			w.failServer(granite, message)
			want := "Ready/Reconciled"
			if message != "" {
				want = "Unhealthy/BackendNotReady"
			}
			Eventually(w.modelSays(granite)).Should(Equal(want))
			Eventually(w.modelSays(again)).Should(Equal(want))
		}
	})

	It("is Pending at a route that the gateway refuses, in the gateway's own words (B29)", func() {
		route := w.modelRoute("granite").Hostnames(otherHost).Obj()
		w.create(route, builder.ModelServer(w.namespace, "granite"))
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Pending/RouteNotAccepted"))
		Eventually(w.modelWords(granite, v1alpha1.ConditionReady)).Should(And(
			ContainSubstring(theGateway.String()), ContainSubstring(w.namespace+"/granite"), ContainSubstring("NoMatchingListenerHostname")))

		w.edit(route, func() { route.Spec.Hostnames = w.modelRoute("granite").Obj().Spec.Hostnames })
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
	})

	It("is Pending at a route whose backends the gateway cannot find (B29)", func() {
		route := w.modelRoute("granite").Stalled().Obj()
		w.create(route)
		w.spokenFor("granite", serverReady())
		granite := w.publish("granite")
		w.gatewaySays(route, theGateway, routeAccepted(), routeRefused("ResolvedRefs", "BackendNotFound", "InferencePool granite does not exist"))
		Eventually(w.modelWords(granite, v1alpha1.ConditionReady)).Should(ContainSubstring("BackendNotFound: InferencePool granite does not exist"))
		Expect(w.modelSays(granite)()).To(Equal("Pending/RouteNotAccepted"))
	})

	It("is not Ready by another gateway's acceptance (B32, W-26)", func() {
		route := w.modelRoute("granite").Below(otherGateway, theGateway).Stalled().Obj()
		w.create(route)
		w.spokenFor("granite", serverReady())
		granite := w.publish("granite")
		w.gatewaySays(route, otherGateway, routeAccepted())
		Eventually(w.modelWords(granite, v1alpha1.ConditionReady)).Should(ContainSubstring("has not accepted"))
		Expect(w.modelSays(granite)()).To(Equal("Pending/RouteNotAccepted"))

		w.gatewaySays(route, theGateway, routeAccepted())
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
	})

	DescribeTable("is Ready although KServe holds its service back for a gateway it does not know, and KServe's words are shown", func(kind, reason string) {
		w.create(w.modelRoute("granite").Obj())
		w.spokenFor("granite", map[string]any{"conditions": []any{
			serverCondition("Ready", "False", reason, "as KServe sees it"),
			serverCondition("WorkloadsReady", "True", "", ""),
			serverCondition(kind, "False", reason, "as KServe sees it"),
		}})
		granite := w.publish("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Expect(w.modelWords(granite, v1alpha1.ConditionRuntimeReady)()).To(ContainSubstring(reason + ": as KServe sees it"))
	},
		Entry("waiting for a gateway that serves (B30)", "GatewaysReady", "WaitingForGateway"),
		Entry("references it takes for invalid (B31)", "HTTPRoutesReady", "RefsInvalid"),
	)

	It("can be written whatever the length of the backend's complaint (W-21)", func() {
		granite := w.model("granite")
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		w.failServer(granite, strings.Repeat("zu wenig Gedächtnis – ", 200))
		Eventually(w.modelWords(granite, v1alpha1.ConditionReady)).Should(ContainSubstring("zu wenig"))
		Expect(w.modelSays(granite)()).To(Equal("Unhealthy/BackendNotReady"))
		message := w.modelWords(granite, v1alpha1.ConditionReady)()
		Expect(len(message)).To(BeNumerically("<=", 1024))
		Expect(utf8.ValidString(message)).To(BeTrue())
	})

	It("is not written again while nothing of importance changes (9.1.11, 9.1.15, W-40)", func() {
		route := w.modelRoute("granite").Obj()
		w.create(route, builder.ModelServer(w.namespace, "granite"))
		granite := w.publish("granite")
		w.pair(granite)
		w.guarded(granite)
		Eventually(w.modelSays(granite)).Should(Equal("Ready/Reconciled"))
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionPoliciesApplied)).Should(Equal("True/PoliciesApplied"))
		Eventually(w.modelVerdict(granite, v1alpha1.ConditionGovernanceAttached)).Should(Equal("True/GovernancePaired"))
		before := w.modelRef(granite).Generation
		mark := audit.Now()

		ref, server := w.modelRef(granite), builder.ModelServer(w.namespace, "granite")
		w.edit(ref, func() { ref.Labels = map[string]string{"team": "a"} })
		w.edit(route, func() { route.Annotations = map[string]string{"note": "touched"} })
		w.edit(server, func() {
			Expect(unstructured.SetNestedField(server.Object, int64(2), "spec", "replicas")).To(Succeed())
		})
		later := w.model("later") // Its events come after those above.
		Eventually(w.modelSays(later)).Should(Equal("Ready/Reconciled"))

		Expect(w.modelRef(granite).Generation).To(Equal(before))
		writes, err := on.Env.Audit().After(mark, audit.ByUser(testenv.OperatorUser), audit.IsWrite(), audit.Not(audit.IsEvent()),
			audit.InNamespace(w.namespace), audit.Not(audit.Named("later")))
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).To(BeEmpty())
	})
})
