// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
)

// Rows E-39 to E-49.
func TestWhyATenantIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*v1alpha1.Tenant, *aitenant.LegacyResult)
		want   string // In the message; empty when the Tenant may go.
	}{
		"nothing differs": {func(*v1alpha1.Tenant, *aitenant.LegacyResult) {}, ""},
		"the config says more": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) {
			l.Spec.Telemetry.Logs, l.Spec.APIKeys.DeletionRetentionDays, l.Spec.PayloadProcessing = nil, nil, nil
		}, ""},
		"the AITenant says more": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) { l.Spec.GatewayRef, l.Spec.ExternalOIDC = nil, nil }, ""},
		"without a config":       {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) { in.Config = nil }, "stays until the MaasTenantConfig"},
		"a config that is being deleted": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.DeletionTimestamp = &metav1.Time{}
		}, "stays until the MaasTenantConfig"},
		"a config of another AITenant": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Annotations[v1alpha1.AnnotationAITenantName] = "blue"
		}, "stays until the MaasTenantConfig"},
		"a config of a former AITenant": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Annotations[v1alpha1.AnnotationAITenantUID] = "uid-0"
		}, "stays until the MaasTenantConfig"},
		"a config labelled for another namespace": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Labels[v1alpha1.LabelTenantNamespace] = "x"
		}, "stays until the MaasTenantConfig"},
		"a config labelled for another tenant": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Labels[v1alpha1.LabelTenantName] = "x"
		}, "stays until the MaasTenantConfig"},
		"a config that nobody manages": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			delete(in.Config.Labels, v1alpha1.LabelManagedBy)
		}, "stays until the MaasTenantConfig"},
		"a config that no AITenant manages": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			delete(in.Config.Labels, v1alpha1.LabelManagedByAITenant)
		}, "stays until the MaasTenantConfig"},
		"a config that was not filled": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			delete(in.Config.Annotations, v1alpha1.AnnotationLegacyTenantMigrated)
		}, "was not copied yet"},
		"without the marker": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) {
			delete(l.Annotations, v1alpha1.AnnotationDeprecatedBy)
		}, "is not marked"},
		"a marker that names something else": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) {
			l.Annotations[v1alpha1.AnnotationMigratedTo] = "x"
		}, "for something else"},
		"the Tenant of another AITenant": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) {
			l.Annotations[v1alpha1.AnnotationAITenantName], l.Annotations[v1alpha1.AnnotationAITenantNamespace] = "blue", "ai-tenants"
		}, "annotated for another AITenant"},
		"another name":      {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) { l.Name = "x" }, "is not the Tenant"},
		"another namespace": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) { l.Namespace = "x" }, "is not the Tenant"},
		"API keys that differ": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Spec.APIKeys.MaxExpirationDays = new(int32(31))
		}, "about spec.apiKeys:"},
		"API keys that are gone": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) { in.Config.Spec.APIKeys = nil }, "about spec.apiKeys:"},
		"telemetry that differs": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) { in.Config.Spec.Telemetry.Enabled = new(true) }, "about spec.telemetry:"},
		"telemetry that is gone": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) { in.Config.Spec.Telemetry = nil }, "about spec.telemetry:"},
		"processing that differs": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Spec.PayloadProcessing.Autoscaling = nil
		}, "about spec.payloadProcessing:"},
		"a provider that differs": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) { in.AITenant.Spec.OIDC = nil }, "about spec.externalOIDC:"},
		"a gateway that differs": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.AITenant.Spec.Gateway = nil
		}, "about spec.gatewayRef:"},
		"a gateway elsewhere": {func(l *v1alpha1.Tenant, _ *aitenant.LegacyResult) { l.Spec.GatewayRef.Namespace = "x" }, "about spec.gatewayRef:"},
		"two things that differ": {func(_ *v1alpha1.Tenant, in *aitenant.LegacyResult) {
			in.Config.Spec.APIKeys, in.AITenant.Spec.OIDC = nil, nil
		}, "about spec.externalOIDC, spec.apiKeys:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			legacy := legacyTenant(everything)
			in := migrated(legacy)
			test.change(legacy, &in)
			err := aitenant.WhyKept(legacy, in)
			if test.want == "" {
				if err != nil {
					t.Errorf("kept: %v", err)
				}
				return
			}
			user, ok := apperr.AsUser(err)
			if !ok || user.Reason != string(v1alpha1.ReasonLegacyTenantKept) || !strings.Contains(user.Message, test.want) {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// Rows E-39, E-42 and E-46.
func TestMarkingATenant(t *testing.T) {
	t.Parallel()
	markers := map[string]string{v1alpha1.AnnotationDeprecatedBy: "MaasTenantConfig", v1alpha1.AnnotationMigratedTo: "default-tenant"}
	for name, test := range map[string]struct {
		annotations    map[string]string
		finalizers     []string
		want           map[string]string
		wantFinalizers []string
		wantChanged    bool
	}{
		"a new one":                 {want: markers, wantChanged: true},
		"one that is marked":        {annotations: markers, want: markers},
		"stale finalizers go":       {annotations: markers, want: markers, finalizers: []string{v1alpha1.FinalizerLegacyTenant, "example.com/x", v1alpha1.FinalizerTenantCleanup}, wantFinalizers: []string{"example.com/x"}, wantChanged: true},
		"a foreign finalizer stays": {annotations: markers, want: markers, finalizers: []string{"example.com/x"}, wantFinalizers: []string{"example.com/x"}},
		"one of another AITenant": {
			annotations: map[string]string{v1alpha1.AnnotationAITenantName: "blue", v1alpha1.AnnotationAITenantNamespace: "ai-tenants"}, finalizers: []string{v1alpha1.FinalizerLegacyTenant},
			want: map[string]string{v1alpha1.AnnotationAITenantName: "blue", v1alpha1.AnnotationAITenantNamespace: "ai-tenants"}, wantFinalizers: []string{v1alpha1.FinalizerLegacyTenant},
		},
		"one migrated to something else": {
			annotations: map[string]string{v1alpha1.AnnotationMigratedTo: "x"}, want: map[string]string{v1alpha1.AnnotationMigratedTo: "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			legacy := legacyTenant(func(l *v1alpha1.Tenant) { l.Annotations, l.Finalizers = cloneMap(test.annotations), test.finalizers })
			if changed := aitenant.MarkLegacy(legacy, ofTenant("red")); changed != test.wantChanged {
				t.Errorf("changed = %v", changed)
			}
			if diff := cmp.Diff(test.want, legacy.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if len(legacy.Finalizers) != len(test.wantFinalizers) || strings.Join(legacy.Finalizers, " ") != strings.Join(test.wantFinalizers, " ") {
				t.Errorf("finalizers %v", legacy.Finalizers)
			}
			if aitenant.MarkLegacy(legacy, ofTenant("red")) {
				t.Error("a second time changed something")
			}
		})
	}
}

func cloneMap(in map[string]string) map[string]string {
	var out map[string]string
	for k, v := range in {
		if out == nil {
			out = map[string]string{}
		}
		out[k] = v
	}
	return out
}
