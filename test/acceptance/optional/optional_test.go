// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/desired"
	"github.com/opendatahub-io/maas-operator/test/stage"
)

// Who says that a kind is missing, as "<object> <condition>=<status>, <reason>". Tenants
// stands for both of them.
const (
	degraded   = "tenants Degraded=True, PrerequisitesWarning"
	labelling  = "tenants TelemetryReady=False, APIMissing"
	processing = "tenants PayloadProcessingReady=False, APIMissing"
	recording  = "tenants UsageLogsReady=False, APIMissing"
	watching   = "installation MonitoringReady=False, APIMissing"
	collecting = "installation UsageLogsReady=False, APIMissing"
)

// lacking is who says so of each kind, where all others are there. Of the kinds that
// only belong to external models, nobody does as long as there is none.
func lacking() map[string][]string {
	return map[string][]string{
		"telemetrypolicies.extensions.kuadrant.io": {degraded, labelling},
		"telemetries.telemetry.istio.io":           {degraded, labelling},
		"envoyfilters.networking.istio.io":         {degraded, processing, recording},
		"destinationrules.networking.istio.io":     {degraded, processing},
		"serviceentries.networking.istio.io":       nil,
		"certificates.cert-manager.io":             {degraded},
		"servicemonitors.monitoring.coreos.com":    {watching},
		"podmonitors.monitoring.coreos.com":        {watching},
		plainRules:                                 nil, stackRules: nil,
		"persesdashboards.perses.dev":              {watching, collecting},
		"persesdatasources.perses.dev":             {collecting},
		"opentelemetrycollectors.opentelemetry.io": {collecting},
		authorinos:                               nil,
		"wasmplugins.extensions.istio.io":        nil,
		"llminferenceservices.serving.kserve.io": nil,
	}
}

// stackRules are alerts for a MonitoringStack, and plainRules the same for others: there
// are either these or those.
const (
	stackRules = "prometheusrules.monitoring.rhobs"
	plainRules = "prometheusrules.monitoring.coreos.com"
)

// optional are the kinds, sorted by name.
func optional() []string { return slices.Sorted(maps.Keys(lacking())) }

// tenants are the namespaces of the MaasTenantConfigs.
func tenants() []string { return []string{stage.TenantNamespace, "ai-tenant-" + other} }

// conditionsOf are those of the installation, and of the tenants, which say the same;
// the phases of the tenants are added as a condition.
func conditionsOf(ctx context.Context) map[string][]metav1.Condition {
	GinkgoHelper()
	installation := &v1alpha1.Config{}
	Expect(on.Admin.Get(ctx, types.NamespacedName{Name: v1alpha1.ConfigName}, installation)).To(Succeed())
	all := map[string][]metav1.Condition{"installation": installation.Status.Conditions}
	for _, namespace := range tenants() {
		config := &v1alpha1.MaasTenantConfig{}
		Expect(on.Admin.Get(ctx, types.NamespacedName{Namespace: namespace, Name: v1alpha1.DefaultTenantConfigName}, config)).To(Succeed())
		all[namespace] = append(config.Status.Conditions, metav1.Condition{Type: "Phase", Reason: string(config.Status.Phase)})
	}
	return all
}

// saying are the conditions whose messages name a text, by object, and the same in the
// words of lacking.
func saying(ctx context.Context, text string) func() map[string][]string {
	return func() map[string][]string {
		GinkgoHelper()
		said := map[string][]string{}
		for object, conditions := range conditionsOf(ctx) {
			said[object] = []string{}
			for _, c := range conditions {
				if strings.Contains(c.Message, text) {
					said[object] = append(said[object], c.Type+"="+string(c.Status)+", "+c.Reason)
				}
			}
			slices.Sort(said[object])
		}
		return said
	}
}

// as is what saying returns where who says it.
func as(who []string) map[string][]string {
	said := map[string][]string{"installation": {}, tenants()[0]: {}, tenants()[1]: {}}
	for _, line := range who {
		object, condition, _ := strings.Cut(line, " ")
		if object == "installation" {
			said[object] = append(said[object], condition)
			continue
		}
		for _, namespace := range tenants() {
			said[namespace] = append(said[namespace], condition)
		}
	}
	for object := range said {
		slices.Sort(said[object])
	}
	return said
}

// phases are those of the tenants, with the reasons of Ready.
func phases(ctx context.Context) func() []string {
	return func() []string {
		GinkgoHelper()
		all := conditionsOf(ctx)
		var found []string
		for _, namespace := range tenants() {
			phase, reason := "", "not judged yet"
			for _, c := range all[namespace] {
				switch c.Type {
				case "Phase":
					phase = c.Reason
				case string(v1alpha1.ConditionReady):
					reason = string(c.Status) + " " + c.Reason
				}
			}
			found = append(found, phase+" "+reason)
		}
		return found
	}
}

// reads waits until both tenants are in a phase, and serve.
func reads(ctx context.Context, phase v1alpha1.TenantPhase) {
	GinkgoHelper()
	want := string(phase) + " True Reconciled"
	Eventually(phases(ctx)).Should(Equal([]string{want, want}))
}

// content tells that nothing is missed: everything is True, and nothing degraded.
func content(ctx context.Context) func() map[string][]string {
	return func() map[string][]string {
		GinkgoHelper()
		troubles := map[string][]string{}
		for object, conditions := range conditionsOf(ctx) {
			for _, c := range conditions {
				good := metav1.ConditionTrue
				if c.Type == string(v1alpha1.ConditionDegraded) {
					good = metav1.ConditionFalse
				}
				if c.Type != "Phase" && c.Status != good {
					troubles[object] = append(troubles[object], c.Type+"="+string(c.Status)+", "+c.Reason+": "+c.Message)
				}
			}
		}
		return troubles
	}
}

// objects counts what the operator wrote of a kind.
func objects(ctx context.Context, crd string) int {
	GinkgoHelper()
	definition := schemaOf(crd)
	list := &unstructured.UnstructuredList{}
	kind, _, err := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	Expect(err).NotTo(HaveOccurred())
	group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
	Expect(err).NotTo(HaveOccurred())
	mapping, err := on.Admin.RESTMapper().RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	Expect(err).NotTo(HaveOccurred())
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind + "List"))
	Expect(on.Admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})).To(Succeed())
	return len(list.Items)
}

// addOns are the conditions about what the operator can do without.
func addOns(ctx context.Context) func() []string {
	return func() []string {
		GinkgoHelper()
		var found []string
		for object, conditions := range conditionsOf(ctx) {
			for _, c := range conditions {
				switch v1alpha1.ConditionType(c.Type) {
				case v1alpha1.ConditionTelemetryReady, v1alpha1.ConditionPayloadProcessingReady, v1alpha1.ConditionUsageLogsReady, v1alpha1.ConditionMonitoringReady:
					found = append(found, object+" "+c.Type+"="+string(c.Status))
				}
			}
		}
		return found
	}
}

// collect plays the operator of collectors: the Pods of the one there is run.
func collect(ctx context.Context) func() error {
	return func() error {
		collector := &unstructured.Unstructured{}
		collector.SetGroupVersionKind(schema.GroupVersionKind{Group: "opentelemetry.io", Version: "v1beta1", Kind: "OpenTelemetryCollector"})
		if err := on.Admin.Get(ctx, types.NamespacedName{Namespace: monitoring, Name: "usage-logs"}, collector); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(collector.Object, "2/2", "status", "scale", "statusReplicas"); err != nil {
			return err
		}
		return on.Admin.Status().Update(ctx, collector)
	}
}

// everything waits until nothing is missed.
func everything(ctx context.Context) {
	GinkgoHelper()
	all := []any{"installation MonitoringReady=True", "installation UsageLogsReady=True"}
	for _, namespace := range tenants() {
		all = append(all, namespace+" TelemetryReady=True", namespace+" PayloadProcessingReady=True", namespace+" UsageLogsReady=True")
	}
	reads(ctx, v1alpha1.TenantPhaseActive)
	Eventually(collect(ctx)).Should(Succeed())
	Eventually(addOns(ctx)).Should(ConsistOf(all...))
	Eventually(content(ctx)).Should(BeEmpty())
}

var _ = Describe("Kinds that the operator can do without", Ordered, func() {
	AfterEach(func() { Expect(on.Operator.Alive()).To(BeTrue(), "the operator ended") })

	It("are all that it writes as far as the table says so", func() {
		for _, row := range desired.Table() {
			if row.Optional {
				Expect(lacking()).To(HaveKey(row.Requires), "%s needs it", row.ID)
			}
		}
	})

	It("are missed by name where all of them are missing, and both tenants serve (W-37)", func(ctx SpecContext) {
		reads(ctx, v1alpha1.TenantPhaseDegraded)
		for crd, who := range lacking() {
			switch crd {
			case "destinationrules.networking.istio.io":
				who = []string{degraded} // Without EnvoyFilters there is no processor to encrypt for.
			case plainRules:
				who = []string{watching} // There are no others.
			}
			Eventually(saying(ctx, crd)).Should(Equal(as(who)), crd)
		}
	})

	It("are used as they come, until nothing is missed", func(ctx SpecContext) {
		for _, crd := range optional() {
			install(ctx, crd)
			Eventually(saying(ctx, crd)).Should(Equal(as(nil)), crd)
		}
		everything(ctx)
	})

	for _, crd := range optional() {
		It("may be all there but "+crd+", also when the operator starts", func(ctx SpecContext) {
			Expect(on.Operator.Stop()).To(Succeed())
			uninstall(ctx, crd)
			Expect(on.Operator.Start(ctx)).To(Succeed())
			who := lacking()[crd]
			Eventually(saying(ctx, crd)).Should(Equal(as(who)))
			phase := v1alpha1.TenantPhaseActive
			if slices.Contains(who, degraded) {
				phase = v1alpha1.TenantPhaseDegraded
			}
			reads(ctx, phase)

			install(ctx, crd)
			everything(ctx)
			switch {
			case crd == stackRules:
				Eventually(func() int { return objects(ctx, plainRules) }).Should(BeZero())
				Expect(objects(ctx, crd)).To(BeNumerically(">", 0))
			case len(who) == 0:
				Expect(objects(ctx, crd)).To(BeZero())
			case phase == v1alpha1.TenantPhaseDegraded:
				Expect(objects(ctx, crd)).To(BeNumerically(">=", len(tenants())))
			default:
				Expect(objects(ctx, crd)).To(BeNumerically(">", 0))
			}
		}, NodeTimeout(startTimeout))
	}

	It("go with their tenant, also the plugins that were left to its administrator, and nothing of the other tenant", func(ctx SpecContext) {
		own := func(tenant string) []string {
			GinkgoHelper()
			var found []string
			for _, kind := range []schema.GroupVersionKind{
				{Version: "v1", Kind: "ConfigMap"},
				{Version: "v1", Kind: "Service"},
				{Version: "v1", Kind: "ServiceAccount"},
				{Group: "apps", Version: "v1", Kind: "Deployment"},
				{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
				{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
				{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"},
				{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"},
				{Group: "telemetry.istio.io", Version: "v1", Kind: "Telemetry"},
				{Group: "extensions.kuadrant.io", Version: "v1alpha1", Kind: "TelemetryPolicy"},
			} {
				list := &unstructured.UnstructuredList{}
				list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
				Expect(on.Admin.List(ctx, list, client.MatchingLabels{v1alpha1.LabelTenantNamespace: tenant, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})).To(Succeed())
				for i := range list.Items {
					found = append(found, kind.Kind+" "+list.Items[i].GetName())
				}
			}
			return found
		}
		kept, leaving := own(tenants()[0]), own(tenants()[1])
		Expect(leaving).To(ContainElements(
			"ConfigMap payload-processing-plugins-other", "Deployment payload-processing-other", "Deployment payload-pre-processing-other",
			"EnvoyFilter payload-processing-other", "EnvoyFilter maas-model-access-logs-other", "TelemetryPolicy maas-telemetry-other",
			"Telemetry latency-per-subscription-other", "ClusterRoleBinding payload-processing-reader-other"))

		tenant := &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: stage.AITenantNamespace, Name: other}}
		Expect(on.Admin.Delete(ctx, tenant)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(finishJobs(ctx)).To(Succeed())
			g.Expect(apierrors.IsNotFound(on.Admin.Get(ctx, client.ObjectKeyFromObject(tenant), tenant))).To(BeTrue())
		}).Should(Succeed())
		Expect(own(tenants()[1])).To(BeEmpty())
		Expect(own(tenants()[0])).To(ConsistOf(kept))
	})
})
