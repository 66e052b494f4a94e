// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/desired/aitenant"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

const (
	legacyNamespace  = "models-as-a-service"
	gatewayNamespace = "openshift-ingress"
	sharedGateway    = "maas-default-gateway"
)

func legacyPlace(isDefault bool) aitenant.LegacyPlace {
	return aitenant.LegacyPlace{Gateway: types.NamespacedName{Namespace: gatewayNamespace, Name: sharedGateway}, Default: isDefault}
}

func legacyTenant(change ...func(*v1alpha1.Tenant)) *v1alpha1.Tenant {
	l := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: legacyNamespace, Name: v1alpha1.DefaultTenantConfigName, UID: "legacy-1"}}
	for _, c := range change {
		c(l)
	}
	return l
}

func ofTenant(name string) *v1alpha1.AITenant {
	return &v1alpha1.AITenant{ObjectMeta: metav1.ObjectMeta{Namespace: "ai-tenants", Name: name, UID: "uid-1"}}
}

// everything is a Tenant that says all that one can say.
func everything(l *v1alpha1.Tenant) {
	l.Spec = v1alpha1.TenantSpec{
		GatewayRef:   &v1alpha1.TenantGatewayRef{Namespace: gatewayNamespace, Name: "own-gateway"},
		ExternalOIDC: &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas", TTL: 60},
		APIKeys:      &v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: new(int32(30)), DeletionRetentionDays: new(int32(7))},
		Telemetry: &v1alpha1.TenantTelemetryConfig{
			Enabled: new(false),
			Metrics: &v1alpha1.TelemetryMetricsConfig{CaptureOrganization: new(false), CaptureUser: new(true), CaptureGroup: new(true), CaptureModelUsage: new(false)},
			Logs:    &v1alpha1.TelemetryLogsConfig{CaptureUser: new(true), CaptureOrganization: new(false)},
		},
		PayloadProcessing: &v1alpha1.PayloadProcessingConfig{
			Replicas:    new(int32(3)),
			Autoscaling: &v1alpha1.PayloadAutoscalingConfig{MaxReplicas: new(int32(5)), TargetCPUUtilization: new(int32(50)), TargetMemoryUtilization: new(int32(60))},
		},
	}
}

// migrated is what a Tenant becomes, each step done in its order.
func migrated(legacy *v1alpha1.Tenant) aitenant.LegacyResult {
	t := ofTenant(v1alpha1.DefaultAITenantName)
	if _, err := aitenant.FillFromLegacy(t, legacy, legacyPlace(true)); err != nil {
		panic(err) // The table asks for what can be migrated.
	}
	stamp := tenancy.StampOf(types.NamespacedName{Namespace: t.Namespace, Name: t.Name}, legacyNamespace)
	config := &v1alpha1.MaasTenantConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: legacyNamespace, Name: v1alpha1.DefaultTenantConfigName, Labels: stamp.Labels, Annotations: stamp.Annotations,
	}}
	aitenant.FillConfigFromLegacy(config, legacy)
	aitenant.MarkLegacy(legacy, t)
	return aitenant.LegacyResult{AITenant: t, Config: config, Namespace: legacyNamespace, Place: legacyPlace(true)}
}

// Rows E-50 and E-51.
func TestWhatATenantGivesAnAITenant(t *testing.T) {
	t.Parallel()
	oidc := &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://idp.example.com", ClientID: "maas", TTL: 300}
	gateway := func(namespace, name string) func(*v1alpha1.Tenant) {
		return func(l *v1alpha1.Tenant) {
			l.Spec.GatewayRef = &v1alpha1.TenantGatewayRef{Namespace: namespace, Name: name}
		}
	}
	for name, test := range map[string]struct {
		legacy  *v1alpha1.Tenant
		tenant  func(*v1alpha1.AITenant)
		custom  bool
		want    v1alpha1.AITenantSpec
		wantErr string
		same    bool
	}{
		"the gateway and the provider": {
			legacy: legacyTenant(gateway(gatewayNamespace, "own"), func(l *v1alpha1.Tenant) { l.Spec.ExternalOIDC = oidc }),
			want:   v1alpha1.AITenantSpec{Gateway: &v1alpha1.AITenantGatewayRef{Name: "own"}, OIDC: oidc},
		},
		"nothing that the AITenant says already": {
			legacy: legacyTenant(gateway(gatewayNamespace, "own"), func(l *v1alpha1.Tenant) { l.Spec.ExternalOIDC = oidc }),
			tenant: func(a *v1alpha1.AITenant) {
				a.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: "chosen"}
				a.Spec.OIDC = &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://other.example.com", ClientID: "x"}
			},
			want: v1alpha1.AITenantSpec{
				Gateway: &v1alpha1.AITenantGatewayRef{Name: "chosen"},
				OIDC:    &v1alpha1.TenantExternalOIDCConfig{IssuerURL: "https://other.example.com", ClientID: "x"},
			},
		},
		"a gateway without a namespace":             {legacy: legacyTenant(gateway("", "own")), want: v1alpha1.AITenantSpec{Gateway: &v1alpha1.AITenantGatewayRef{Name: "own"}}},
		"an empty gateway":                          {legacy: legacyTenant(gateway("", ""))},
		"the default gateway to the default tenant": {legacy: legacyTenant(gateway(gatewayNamespace, sharedGateway)), want: v1alpha1.AITenantSpec{Gateway: &v1alpha1.AITenantGatewayRef{Name: sharedGateway}}},
		"not the default gateway to another tenant": {legacy: legacyTenant(gateway(gatewayNamespace, sharedGateway)), custom: true},
		"nor the one that earlier releases wrote, in whatever namespace": {
			legacy: legacyTenant(gateway("elsewhere", sharedGateway)), custom: true,
		},
		"no gateway of another namespace": {legacy: legacyTenant(gateway("elsewhere", "own")), wantErr: "spec.gatewayRef.namespace is not " + gatewayNamespace, same: true},
		"nothing of somebody else's Tenant": {
			legacy: legacyTenant(gateway("elsewhere", "own"), func(l *v1alpha1.Tenant) {
				l.Annotations = map[string]string{v1alpha1.AnnotationAITenantName: "blue", v1alpha1.AnnotationAITenantNamespace: "ai-tenants"}
			}),
			same: true,
		},
		"nothing a second time": {
			legacy: legacyTenant(gateway("elsewhere", "own"), func(l *v1alpha1.Tenant) { l.Spec.ExternalOIDC = oidc }),
			tenant: func(a *v1alpha1.AITenant) {
				a.Annotations = map[string]string{v1alpha1.AnnotationLegacyTenantMigrated: "legacy-1"}
			},
			same: true,
		},
		"of a Tenant made anew, once more": {
			legacy: legacyTenant(func(l *v1alpha1.Tenant) { l.UID, l.Spec.ExternalOIDC = "legacy-2", oidc }),
			tenant: func(a *v1alpha1.AITenant) {
				a.Annotations = map[string]string{v1alpha1.AnnotationLegacyTenantMigrated: "legacy-1"}
			},
			want: v1alpha1.AITenantSpec{OIDC: oidc},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ofTenant("red")
			if test.tenant != nil {
				test.tenant(got)
			}
			before := got.DeepCopy()
			changed, err := aitenant.FillFromLegacy(got, test.legacy, legacyPlace(!test.custom))
			user, isUser := apperr.AsUser(err)
			if (err != nil) != (test.wantErr != "") || (err != nil && !isUser) {
				t.Fatalf("err = %v", err)
			}
			if isUser && (!strings.Contains(user.Message, test.wantErr) || user.Reason != string(v1alpha1.ReasonLegacyTenantMigrationFailed)) {
				t.Errorf("err = %v", err)
			}
			if changed == test.same {
				t.Errorf("changed = %v", changed)
			}
			if test.same {
				if diff := cmp.Diff(before, got); diff != "" {
					t.Errorf("changed (-before +after):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(test.want, got.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if !aitenant.HasLegacyRecord(got.Annotations, test.legacy) {
				t.Error("not recorded")
			}
		})
	}
}

// Row E-38 and W-34: every field, those of later releases included.
func TestEveryFieldOfATenantIsTakenOver(t *testing.T) {
	t.Parallel()
	legacy := legacyTenant(everything)
	if missing := unset(reflect.ValueOf(legacy.Spec), "spec"); len(missing) > 0 {
		t.Fatalf("the test's Tenant does not set %v", missing)
	}
	got := migrated(legacy)
	want := v1alpha1.MaasTenantConfigSpec{APIKeys: legacy.Spec.APIKeys, Telemetry: legacy.Spec.Telemetry, PayloadProcessing: legacy.Spec.PayloadProcessing}
	if diff := cmp.Diff(want, got.Config.Spec); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	wantTenant := v1alpha1.AITenantSpec{Gateway: &v1alpha1.AITenantGatewayRef{Name: "own-gateway"}, OIDC: legacy.Spec.ExternalOIDC}
	if diff := cmp.Diff(wantTenant, got.AITenant.Spec); diff != "" {
		t.Errorf("AITenant (-want +got):\n%s", diff)
	}
	if err := aitenant.WhyKept(legacy, got); err != nil {
		t.Errorf("kept: %v", err)
	}
	got.Config.Spec.APIKeys.MaxExpirationDays = new(int32(1))
	if *legacy.Spec.APIKeys.MaxExpirationDays != 30 {
		t.Error("the copy shares memory with the Tenant")
	}
}

// unset names the fields that have no value.
func unset(v reflect.Value, path string) []string {
	switch v.Kind() { //nolint:exhaustive // The other kinds are leaves.
	case reflect.Pointer:
		if v.IsNil() {
			return []string{path}
		}
		return unset(v.Elem(), path)
	case reflect.Struct:
		var names []string
		for i := range v.NumField() {
			names = append(names, unset(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
		return names
	default:
		return nil
	}
}

func TestWhatAUserTookOutStaysOut(t *testing.T) {
	t.Parallel()
	legacy := legacyTenant(everything)
	got := migrated(legacy)
	got.Config.Spec = v1alpha1.MaasTenantConfigSpec{}
	got.AITenant.Spec = v1alpha1.AITenantSpec{}
	aitenant.FillConfigFromLegacy(got.Config, legacy)
	if changed, err := aitenant.FillFromLegacy(got.AITenant, legacy, legacyPlace(true)); changed || err != nil {
		t.Errorf("changed = %v, err = %v", changed, err)
	}
	if !reflect.DeepEqual(got.Config.Spec, v1alpha1.MaasTenantConfigSpec{}) {
		t.Errorf("config %+v", got.Config.Spec)
	}
}

// Whatever the Tenant and the config say, a filled config says all that the Tenant
// says where it said nothing, and what it said is unchanged.
func TestFillingOverwritesNothing(t *testing.T) {
	t.Parallel()
	days := rapid.Ptr(rapid.Int32Range(1, 3), true)
	flags := rapid.Ptr(rapid.Bool(), true)
	specs := rapid.Custom(func(t *rapid.T) v1alpha1.MaasTenantConfigSpec {
		return v1alpha1.MaasTenantConfigSpec{
			APIKeys: rapid.Ptr(rapid.Custom(func(t *rapid.T) v1alpha1.TenantAPIKeysConfig {
				return v1alpha1.TenantAPIKeysConfig{MaxExpirationDays: days.Draw(t, "max"), DeletionRetentionDays: days.Draw(t, "retention")}
			}), true).Draw(t, "keys"),
			Telemetry: rapid.Ptr(rapid.Custom(func(t *rapid.T) v1alpha1.TenantTelemetryConfig {
				return v1alpha1.TenantTelemetryConfig{Enabled: flags.Draw(t, "enabled"), Logs: rapid.Ptr(rapid.Custom(func(t *rapid.T) v1alpha1.TelemetryLogsConfig {
					return v1alpha1.TelemetryLogsConfig{CaptureUser: flags.Draw(t, "user")}
				}), true).Draw(t, "logs")}
			}), true).Draw(t, "telemetry"),
			PayloadProcessing: rapid.Ptr(rapid.Custom(func(t *rapid.T) v1alpha1.PayloadProcessingConfig {
				return v1alpha1.PayloadProcessingConfig{Replicas: days.Draw(t, "replicas"), Autoscaling: rapid.Ptr(rapid.Just(v1alpha1.PayloadAutoscalingConfig{}), true).Draw(t, "autoscaling")}
			}), true).Draw(t, "payload"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		said, had := specs.Draw(t, "legacy"), specs.Draw(t, "config")
		legacy := legacyTenant(func(l *v1alpha1.Tenant) {
			l.Spec.APIKeys, l.Spec.Telemetry, l.Spec.PayloadProcessing = said.APIKeys, said.Telemetry, said.PayloadProcessing
		})
		config := &v1alpha1.MaasTenantConfig{Spec: *had.DeepCopy()}
		aitenant.FillConfigFromLegacy(config, legacy)
		got, below, above := leaves(t, config.Spec), leaves(t, said), leaves(t, had)
		for path, value := range above {
			if got[path] != value {
				t.Fatalf("%s was %v and is %v", path, value, got[path])
			}
		}
		for path, value := range got {
			if _, kept := above[path]; !kept && below[path] != value {
				t.Fatalf("%s is %v, and the Tenant says %v", path, value, below[path])
			}
		}
		for path := range below {
			if _, ok := got[path]; !ok {
				t.Fatalf("%s is lost", path)
			}
		}
	})
}

// leaves maps the paths of a spec to what stands there; groups count too.
func leaves(t *rapid.T, spec v1alpha1.MaasTenantConfigSpec) map[string]any {
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]any{}
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	var walk func(path string, node any)
	walk = func(path string, node any) {
		group, ok := node.(map[string]any)
		if !ok {
			out[path] = node
			return
		}
		out[path] = "a group"
		for name, member := range group {
			walk(path+"."+name, member)
		}
	}
	walk("spec", tree)
	return out
}
