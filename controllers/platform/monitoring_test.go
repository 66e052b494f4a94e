// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// monitored reads an object of monitoring; nil when it is not there, or its kind not
// served.
func monitored(ctx context.Context, group, kind, name string) func(Gomega) *unstructured.Unstructured {
	return func(g Gomega) *unstructured.Unstructured {
		version := map[string]string{"monitoring.coreos.com": "v1", "monitoring.rhobs": "v1", "perses.dev": "v1alpha1"}[group]
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		err := suite.Admin.Get(ctx, types.NamespacedName{Namespace: monitoringNamespace, Name: name}, object)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		g.Expect(err).NotTo(HaveOccurred())
		return object
	}
}

// interval is that of a ServiceMonitor's first endpoint.
func interval(ctx context.Context, name string) func(Gomega) string {
	return func(g Gomega) string {
		object := monitored(ctx, "monitoring.coreos.com", "ServiceMonitor", name)(g)
		g.Expect(object).NotTo(BeNil())
		endpoints, _, err := unstructured.NestedSlice(object.Object, "spec", "endpoints")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(endpoints).To(HaveLen(1))
		return endpoints[0].(map[string]any)["interval"].(string)
	}
}

// The specs follow one cluster from one without any of it to one with everything: what
// usage logging needs comes after what monitoring does.
var _ = Describe("what the installation could do without", Ordered, func() {
	AfterEach(uninstall)

	Describe("what monitoring is told", monitoringSpecs)
	Describe("usage logging", usageSpecs)
})

func monitoringSpecs() {
	It("is nothing without a namespace of monitoring, and nothing is wrong", func(ctx SpecContext) { // E-157
		install(ctx)
		settle(ctx)
		Expect(now(says(ctx, "MonitoringReady"))).To(Equal("none"))
		logUsage(ctx, true)
		Eventually(message(ctx)).Should(ContainSubstring("nothing is recorded, because there is no namespace " + monitoringNamespace))
		Expect(now(says(ctx, "Ready"))).To(Equal("True/PlatformReady"))
		Expect(now(says(ctx, "UsageLogsReady"))).To(Equal("none"))
	})

	It("waits for its APIs, and names them", func(ctx SpecContext) {
		ensureNamespace(ctx, monitoringNamespace)
		install(ctx)
		settle(ctx)
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("False/APIMissing"))
		Expect(now(messageOf(ctx, "MonitoringReady"))).To(And(
			ContainSubstring("servicemonitors.monitoring.coreos.com"), ContainSubstring("podmonitors.monitoring.coreos.com"),
			ContainSubstring("prometheusrules.monitoring.coreos.com"), ContainSubstring("persesdashboards.perses.dev"), ContainSubstring("when it appears")))
	})

	It("is rendered as APIs appear, one after the other", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		Expect(suite.Env.InstallCRDs(ctx, testenv.Prometheus)).To(Succeed())
		Eventually(messageOf(ctx, "MonitoringReady")).Should(And(ContainSubstring("persesdashboards.perses.dev"), Not(ContainSubstring("monitoring.coreos.com"))))
		Eventually(monitored(ctx, "monitoring.coreos.com", "PrometheusRule", "maas-api-alerts")).ShouldNot(BeNil())
		Eventually(monitored(ctx, "monitoring.coreos.com", "PodMonitor", "maas-api")).ShouldNot(BeNil())
		Eventually(interval(ctx, "limitador-metrics")).Should(Equal("30s")) // E-155

		Expect(suite.Env.InstallCRDs(ctx, testenv.Perses)).To(Succeed())
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("True/Reconciled"))
		Expect(now(monitored(ctx, "perses.dev", "PersesDashboard", "dashboard-3-maas-usage-admin"))).NotTo(BeNil())
		Expect(now(config(ctx)).Status.Inventory).To(ContainElement(HaveField("Kind", "PersesDashboard")))

		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.LimitadorScrapeInterval = "15s" }) // E-155
		Eventually(interval(ctx, "limitador-metrics")).Should(Equal("15s"))
	})

	It("comes back when it is deleted or changed", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("True/Reconciled"))
		first := now(monitored(ctx, "monitoring.coreos.com", "ServiceMonitor", "limitador-metrics"))
		Expect(suite.Admin.Delete(ctx, first)).To(Succeed())
		Eventually(monitored(ctx, "monitoring.coreos.com", "ServiceMonitor", "limitador-metrics")).Should(And(Not(BeNil()), HaveField("GetUID()", Not(Equal(first.GetUID())))))
		edit(ctx, now(monitored(ctx, "monitoring.coreos.com", "ServiceMonitor", "limitador-metrics")), func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "theirs", "spec", "selector", "matchLabels", "app")).To(Succeed())
		})
		Eventually(monitored(ctx, "monitoring.coreos.com", "ServiceMonitor", "limitador-metrics")).Should(
			HaveField("Object", HaveKeyWithValue("spec", HaveKeyWithValue("selector", HaveKeyWithValue("matchLabels", HaveKeyWithValue("app", "limitador"))))))
	})

	It("gives way to an object of somebody else, and the installation stands", func(ctx SpecContext) {
		theirs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"groups": []any{}}}}
		theirs.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"})
		theirs.SetNamespace(monitoringNamespace)
		theirs.SetName("maas-api-alerts")
		wipeMonitoring(ctx)
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(suite.Admin.Delete(ctx, theirs)).To(Succeed()) })
		install(ctx)
		settle(ctx)
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("False/ForeignObject"))
		Expect(now(messageOf(ctx, "MonitoringReady"))).To(ContainSubstring("PrometheusRule " + monitoringNamespace + "/maas-api-alerts"))
		Expect(now(monitored(ctx, "monitoring.coreos.com", "PrometheusRule", "maas-api-alerts")).GetLabels()).To(BeEmpty())
	})

	It("tells alerts to a MonitoringStack instead, as soon as there can be one", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		Eventually(monitored(ctx, "monitoring.coreos.com", "PrometheusRule", "maas-api-alerts")).ShouldNot(BeNil())
		Expect(suite.Env.InstallCRDs(ctx, testenv.Stacks)).To(Succeed())
		Eventually(monitored(ctx, "monitoring.rhobs", "PrometheusRule", "maas-api-alerts")).ShouldNot(BeNil())
		Eventually(monitored(ctx, "monitoring.coreos.com", "PrometheusRule", "maas-api-alerts")).Should(BeNil())
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("True/Reconciled"))
		Expect(now(monitored(ctx, "monitoring.coreos.com", "PodMonitor", "maas-api"))).NotTo(BeNil())
	})

	It("goes with the installation", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("True/Reconciled"))
		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.ManagementState = v1alpha1.ManagementStateRemoved })
		Eventually(monitored(ctx, "monitoring.rhobs", "PrometheusRule", "maas-api-alerts")).Should(BeNil())
		Eventually(monitored(ctx, "perses.dev", "PersesDashboard", "dashboard-3-maas-usage-admin")).Should(BeNil())
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("none"))
	})
}

// wipeMonitoring deletes what an earlier spec left of the objects, as the garbage
// collector would.
func wipeMonitoring(ctx context.Context) {
	GinkgoHelper()
	for _, kind := range []string{"ServiceMonitorList", "PodMonitorList", "PrometheusRuleList"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind})
		wipe(ctx, list)
	}
}
