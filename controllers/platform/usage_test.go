// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

const (
	usageProxy   = "usage-logs-tenancy-proxy"
	logWriter    = "usage-collector-application-logs-write"
	collectorCRD = "opentelemetrycollectors.opentelemetry.io"
)

func collectorKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "opentelemetry.io", Version: "v1beta1", Kind: "OpenTelemetryCollector"}
}

func usageProxyOf(ctx context.Context) func(Gomega) *appsv1.Deployment {
	return func(g Gomega) *appsv1.Deployment {
		return read(ctx, monitoringNamespace, usageProxy, &appsv1.Deployment{})(g)
	}
}

func usageService(ctx context.Context) func(Gomega) *corev1.Service {
	return func(g Gomega) *corev1.Service {
		return read(ctx, monitoringNamespace, usageProxy, &corev1.Service{})(g)
	}
}

func logWriterBinding(ctx context.Context) func(Gomega) *rbacv1.ClusterRoleBinding {
	return func(g Gomega) *rbacv1.ClusterRoleBinding {
		return read(ctx, "", logWriter, &rbacv1.ClusterRoleBinding{})(g)
	}
}

// usageObjects are the kinds and names of all objects of usage logging, those of others
// with such a name left out. kinds that are not served have none.
func usageObjects(ctx context.Context, served ...schema.GroupVersionKind) func(Gomega) []string {
	return func(g Gomega) []string {
		kinds := append([]schema.GroupVersionKind{
			appsv1.SchemeGroupVersion.WithKind("Deployment"), corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
			networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
			rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
			{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDashboard"},
			{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDatasource"},
		}, served...)
		var found []string
		for _, kind := range kinds {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			g.Expect(suite.Admin.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/component": "usage-logs"})).To(Succeed())
			for _, item := range list.Items {
				found = append(found, kind.Kind+" "+item.GetName())
			}
		}
		slices.Sort(found)
		return found
	}
}

// serve plays the controller of Deployments: so many Pods of the proxy run.
func serve(ctx context.Context, pods int32) {
	GinkgoHelper()
	d := now(usageProxyOf(ctx))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: pods, AvailableReplicas: pods}
	Expect(suite.Admin.Status().Update(ctx, d)).To(Succeed())
}

// collect plays the operator of collectors: so many of its Pods run.
func collect(ctx context.Context, pods string) {
	GinkgoHelper()
	collector := &unstructured.Unstructured{}
	collector.SetGroupVersionKind(collectorKind())
	Expect(suite.Admin.Get(ctx, client.ObjectKey{Namespace: monitoringNamespace, Name: "usage-logs"}, collector)).To(Succeed())
	Expect(unstructured.SetNestedField(collector.Object, pods, "status", "scale", "statusReplicas")).To(Succeed())
	Expect(suite.Admin.Status().Update(ctx, collector)).To(Succeed())
}

// degrade plays the operator of Perses: it takes the personal dashboard, or does not.
func degrade(ctx context.Context, status metav1.ConditionStatus, also ...string) {
	GinkgoHelper()
	dashboard := &unstructured.Unstructured{}
	dashboard.SetGroupVersionKind(schema.GroupVersionKind{Group: "perses.dev", Version: "v1alpha1", Kind: "PersesDashboard"})
	Expect(suite.Admin.Get(ctx, client.ObjectKey{Namespace: monitoringNamespace, Name: "dashboard-5-maas-usage-logs"}, dashboard)).To(Succeed())
	conditions := []any{map[string]any{"type": "Degraded", "status": string(status)}}
	for _, condition := range also {
		conditions = append(conditions, map[string]any{"type": condition, "status": "True"})
	}
	Expect(unstructured.SetNestedSlice(dashboard.Object, conditions, "status", "conditions")).To(Succeed())
	Expect(suite.Admin.Status().Update(ctx, dashboard)).To(Succeed())
}

func logUsage(ctx context.Context, on bool) {
	GinkgoHelper()
	editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.UsageLogging = on })
}

func usageSpecs() {
	It("is nothing while it is switched off", func(ctx SpecContext) { // E-156
		install(ctx)
		settle(ctx)
		Eventually(says(ctx, "MonitoringReady")).Should(Equal("True/Reconciled"))
		Expect(now(says(ctx, "UsageLogsReady"))).To(Equal("none"))
		Expect(now(usageObjects(ctx))).To(BeEmpty())
	})

	It("grants nobody the rights of a collector that the cluster cannot run, and says what is missing", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		logUsage(ctx, true)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/APIMissing"))
		Expect(now(messageOf(ctx, "UsageLogsReady"))).To(And(ContainSubstring(collectorCRD), ContainSubstring("rendered when it appears")))
		Expect(now(logWriterBinding(ctx))).To(BeNil())
		Expect(now(usageProxyOf(ctx)).Spec.Template.Spec.Containers[0].Args).To(ContainElement(
			"--upstream-url=https://usage-gateway-http."+monitoringNamespace+".svc:8080/api/logs/v1/application"), "the rest is there")
		Expect(now(says(ctx, "Ready"))).To(Equal("True/PlatformReady"))
	})

	It("is completed when the cluster learns to run collectors, and works when its Pods run", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		logUsage(ctx, true)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/APIMissing"))
		Expect(suite.Env.InstallCRDs(ctx, testenv.OpenTelemetry)).To(Succeed())
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/NotAvailable"))
		Expect(now(messageOf(ctx, "UsageLogsReady"))).To(And(
			ContainSubstring("Deployment "+monitoringNamespace+"/"+usageProxy), ContainSubstring("OpenTelemetryCollector "+monitoringNamespace+"/usage-logs")))
		Expect(now(usageObjects(ctx, collectorKind()))).To(Equal(wholeUsage()))
		Expect(now(logWriterBinding(ctx)).Subjects).To(ConsistOf(rbacv1.Subject{Kind: "ServiceAccount", Namespace: monitoringNamespace, Name: "usage-logs-collector"}))

		serve(ctx, 1)
		Eventually(messageOf(ctx, "UsageLogsReady")).ShouldNot(ContainSubstring(usageProxy))
		Expect(now(says(ctx, "UsageLogsReady"))).To(Equal("False/NotAvailable"), "nobody runs the collector")
		collect(ctx, "2/2")
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("True/Reconciled"))
		serve(ctx, 0)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/NotAvailable"))
		Expect(now(says(ctx, "Ready"))).To(Equal("True/PlatformReady"))
		serve(ctx, 1)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("True/Reconciled"))

		collect(ctx, "1/2")
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/NotAvailable"))
		Expect(now(messageOf(ctx, "UsageLogsReady"))).To(ContainSubstring("OpenTelemetryCollector " + monitoringNamespace + "/usage-logs"))
		collect(ctx, "2/2")
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("True/Reconciled"))

		degrade(ctx, metav1.ConditionTrue)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/NotAccepted"))
		Expect(now(messageOf(ctx, "UsageLogsReady"))).To(ContainSubstring("PersesDashboard " + monitoringNamespace + "/dashboard-5-maas-usage-logs"))
		degrade(ctx, metav1.ConditionTrue, "Available")
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("True/Reconciled"))
		degrade(ctx, metav1.ConditionTrue)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/NotAccepted"))
		degrade(ctx, metav1.ConditionFalse)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("True/Reconciled"))
	})

	It("goes when it is switched off, and leaves alone what others have", func(ctx SpecContext) { // E-156
		wipeUsage(ctx)
		theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: monitoringNamespace, Name: usageProxy}}
		theirs.Spec.Ports = []corev1.ServicePort{{Port: 1234}}
		Expect(suite.Admin.Create(ctx, theirs)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(suite.Admin.Delete(ctx, theirs))).To(Succeed()) })
		install(ctx)
		settle(ctx)
		logUsage(ctx, true)
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("False/ForeignObject"))
		Expect(now(messageOf(ctx, "UsageLogsReady"))).To(ContainSubstring("Service " + monitoringNamespace + "/" + usageProxy))
		Expect(now(says(ctx, "Ready"))).To(Equal("True/PlatformReady"))
		Expect(now(usageObjects(ctx, collectorKind()))).To(Equal(slices.DeleteFunc(wholeUsage(), func(o string) bool { return o == "Service "+usageProxy })))

		logUsage(ctx, false)
		Eventually(usageObjects(ctx, collectorKind())).Should(BeEmpty())
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("none"))
		Expect(now(usageService(ctx))).To(And(HaveField("UID", theirs.UID), HaveField("Labels", BeEmpty()), HaveField("OwnerReferences", BeEmpty())))
		Expect(now(config(ctx)).Status.Inventory).NotTo(ContainElement(HaveField("Name", usageProxy)))
	})

	It("takes over what an earlier release made for the Config, which goes too", func(ctx SpecContext) { // E-156
		wipeUsage(ctx)
		owner := &v1alpha1.Config{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: v1alpha1.ConfigSpec{UsageLogging: true}}
		Expect(suite.Admin.Create(ctx, owner)).To(Succeed())
		old := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: monitoringNamespace, Name: usageProxy, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "maas.opendatahub.io/v1alpha1", Kind: "Config", Name: "default", UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true)},
		}}}
		old.Spec.Ports = []corev1.ServicePort{{Name: "https", Port: 8443}}
		Expect(suite.Admin.Create(ctx, old)).To(Succeed())
		install(ctx)
		settle(ctx)
		Eventually(usageService(ctx)).Should(And(HaveField("UID", old.UID), HaveField("Spec.Selector", HaveKeyWithValue("app", "usage-tenancy-proxy"))))
		serve(ctx, 1)
		collect(ctx, "2/2")
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("True/Reconciled"))

		logUsage(ctx, false)
		Eventually(usageObjects(ctx, collectorKind())).Should(BeEmpty())
		Expect(now(usageService(ctx))).To(BeNil())
	})

	It("comes back when it is deleted or changed", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		logUsage(ctx, true)
		Eventually(usageObjects(ctx, collectorKind())).Should(Equal(wholeUsage()))
		first := now(usageProxyOf(ctx))
		Expect(suite.Admin.Delete(ctx, first)).To(Succeed())
		Eventually(usageProxyOf(ctx)).Should(And(Not(BeNil()), HaveField("UID", Not(Equal(first.UID)))))

		binding := now(logWriterBinding(ctx))
		edit(ctx, binding, func(b *rbacv1.ClusterRoleBinding) {
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "somebody"})
		})
		Eventually(logWriterBinding(ctx)).Should(HaveField("Subjects", HaveLen(1)))
	})

	It("goes with the installation", func(ctx SpecContext) {
		install(ctx)
		settle(ctx)
		logUsage(ctx, true)
		Eventually(usageObjects(ctx, collectorKind())).Should(Equal(wholeUsage()))
		editConfig(ctx, func(s *v1alpha1.ConfigSpec) { s.ManagementState = v1alpha1.ManagementStateRemoved })
		Eventually(usageObjects(ctx, collectorKind())).Should(BeEmpty())
		Eventually(says(ctx, "UsageLogsReady")).Should(Equal("none"))
	})
}

// wholeUsage is all there is on plain Kubernetes, as [usageObjects] tells it.
func wholeUsage() []string {
	return []string{
		"ClusterRole usage-collector-application-logs-write", "ClusterRole usage-tenancy-proxy-application-logs-read",
		"ClusterRole usage-tenancy-proxy-pods-log-read", "ClusterRole usage-tenancy-proxy-tokenreview",
		"ClusterRoleBinding usage-collector-application-logs-write", "ClusterRoleBinding usage-tenancy-proxy-tokenreview",
		"Deployment usage-logs-tenancy-proxy",
		"NetworkPolicy usage-logs-collector-allow-gateway", "NetworkPolicy usage-logs-collector-egress-restrict",
		"NetworkPolicy usage-tenancy-proxy-allow-perses", "NetworkPolicy usage-tenancy-proxy-egress-restrict",
		"OpenTelemetryCollector usage-logs",
		"PersesDashboard dashboard-4-maas-usage-logs-admin", "PersesDashboard dashboard-5-maas-usage-logs",
		"PersesDatasource usage-logs-all", "PersesDatasource usage-logs-multi-tenancy",
		"RoleBinding usage-tenancy-proxy-application-logs-read", "RoleBinding usage-tenancy-proxy-pods-log-read",
		"Service usage-logs-tenancy-proxy", "ServiceAccount usage-tenancy-proxy",
	}
}

// wipeUsage deletes what earlier specs left, as the garbage collector would.
func wipeUsage(ctx context.Context) {
	GinkgoHelper()
	in, labelled := client.InNamespace(monitoringNamespace), client.MatchingLabels{"app.kubernetes.io/component": "usage-logs"}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}} {
		wipe(ctx, list, in)
	}
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{}} {
		wipe(ctx, list, labelled)
	}
}
