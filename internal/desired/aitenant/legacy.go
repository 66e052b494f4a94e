// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
)

const (
	// deprecatedByValue and migratedToValue are the markers of a Tenant that the
	// operator has taken over.
	deprecatedByValue = "MaasTenantConfig"
	migratedToValue   = v1alpha1.DefaultTenantConfigName
)

// LegacyPlace is where a Tenant of an earlier release is migrated to.
type LegacyPlace struct {
	// Gateway is the default tenant's Gateway. All Gateways are in its namespace.
	Gateway types.NamespacedName
	// Default says that the AITenant is the default one.
	Default bool
}

// legacyGateway is the name of the Gateway that the Tenant asks for; empty when it
// asks for none. A tenant beside the default one cannot have meant the default
// Gateway: earlier releases wrote it into every Tenant.
func (p LegacyPlace) legacyGateway(legacy *v1alpha1.Tenant) string {
	ref := legacy.Spec.GatewayRef
	if ref == nil || !p.Default && (ref.Name == p.Gateway.Name || ref.Name == formerDefaultGateway) {
		return ""
	}
	return ref.Name
}

// formerDefaultGateway is what earlier releases wrote into Tenants that name no
// Gateway.
const formerDefaultGateway = "maas-default-gateway"

// HasLegacyRecord tells whether the settings of the Tenant were copied before, by the
// record on the object they were copied to. They are copied once: what somebody took
// out of the copy afterwards stays out.
func HasLegacyRecord(annotations map[string]string, legacy *v1alpha1.Tenant) bool {
	return annotations[v1alpha1.AnnotationLegacyTenantMigrated] == string(legacy.UID)
}

// FillFromLegacy copies into an AITenant what the Tenant says and the AITenant does
// not, and records it. It tells whether the AITenant changed. An [apperr.UserError]
// means that the Tenant cannot be migrated; the AITenant is as it was then.
func FillFromLegacy(t *v1alpha1.AITenant, legacy *v1alpha1.Tenant, p LegacyPlace) (changed bool, err error) {
	if MarkedForAnother(legacy, t) || HasLegacyRecord(t.Annotations, legacy) {
		return false, nil
	}
	gateway := p.legacyGateway(legacy)
	if ref := legacy.Spec.GatewayRef; gateway != "" && ref.Namespace != "" && ref.Namespace != p.Gateway.Namespace {
		return false, apperr.Userf(v1alpha1.ReasonLegacyTenantMigrationFailed,
			"Tenant %s/%s: spec.gatewayRef.namespace is not %s, where this operator looks for Gateways: set it to that namespace, or delete the Tenant and set spec.gateway of AITenant %s.",
			legacy.Namespace, legacy.Name, p.Gateway.Namespace, t.Name)
	}
	if t.Spec.OIDC == nil {
		t.Spec.OIDC = legacy.Spec.ExternalOIDC.DeepCopy()
	}
	if gateway != "" && (t.Spec.Gateway == nil || t.Spec.Gateway.Name == "") {
		t.Spec.Gateway = &v1alpha1.AITenantGatewayRef{Name: gateway}
	}
	record(t, legacy)
	return true, nil
}

// FillConfigFromLegacy copies into a MaasTenantConfig every field that the Tenant sets
// and the config does not, and records it, unless that was done before. Without the
// record, [WhyKept] keeps the Tenant.
func FillConfigFromLegacy(config *v1alpha1.MaasTenantConfig, legacy *v1alpha1.Tenant) {
	if HasLegacyRecord(config.Annotations, legacy) {
		return
	}
	if filled, err := overlay(settingsOf(legacy), config.Spec); err == nil {
		config.Spec = filled
		record(config, legacy)
	}
}

// settingsOf is what a Tenant says that a MaasTenantConfig says today.
func settingsOf(legacy *v1alpha1.Tenant) v1alpha1.MaasTenantConfigSpec {
	return v1alpha1.MaasTenantConfigSpec{
		APIKeys: legacy.Spec.APIKeys, Telemetry: legacy.Spec.Telemetry, PayloadProcessing: legacy.Spec.PayloadProcessing,
	}
}

// overlay returns the fields that are set in either spec; what is set in both is as in
// above.
func overlay(below, above v1alpha1.MaasTenantConfigSpec) (merged v1alpha1.MaasTenantConfigSpec, err error) {
	for _, spec := range []v1alpha1.MaasTenantConfigSpec{below, above} {
		data, err := json.Marshal(spec)
		if err != nil {
			return merged, err
		}
		// Unmarshal keeps what is set in merged and absent in the data, at any depth.
		if err := json.Unmarshal(data, &merged); err != nil {
			return merged, err
		}
	}
	return merged, nil
}

// record notes on an object that the settings of the Tenant were copied to it.
func record(object metav1.Object, legacy *v1alpha1.Tenant) {
	object.SetAnnotations(merged(object.GetAnnotations(), map[string]string{v1alpha1.AnnotationLegacyTenantMigrated: string(legacy.UID)}))
}

// MarkedForAnother tells whether the Tenant says that it belongs to another AITenant.
func MarkedForAnother(legacy *v1alpha1.Tenant, t *v1alpha1.AITenant) bool {
	return MarkedFor(legacy, t) == Others
}

// MarkLegacy marks a Tenant as taken over, and takes off the finalizers that no
// controller of this release would: nothing but we can let it go. It tells whether the
// Tenant changed. One that belongs to another AITenant, or that says that it was
// migrated to something else, stays as it is.
func MarkLegacy(legacy *v1alpha1.Tenant, t *v1alpha1.AITenant) (changed bool) {
	if MarkedForAnother(legacy, t) || migratedElsewhere(legacy) {
		return false
	}
	kept := slices.DeleteFunc(slices.Clone(legacy.Finalizers), func(name string) bool {
		return name == v1alpha1.FinalizerLegacyTenant || name == v1alpha1.FinalizerTenantCleanup
	})
	if marked(legacy) && len(kept) == len(legacy.Finalizers) {
		return false
	}
	if legacy.Annotations == nil {
		legacy.Annotations = map[string]string{}
	}
	legacy.Annotations[v1alpha1.AnnotationDeprecatedBy] = deprecatedByValue
	legacy.Annotations[v1alpha1.AnnotationMigratedTo] = migratedToValue
	legacy.Finalizers = kept
	return true
}

func marked(legacy *v1alpha1.Tenant) bool {
	return legacy.Annotations[v1alpha1.AnnotationDeprecatedBy] == deprecatedByValue &&
		legacy.Annotations[v1alpha1.AnnotationMigratedTo] == migratedToValue
}

func migratedElsewhere(legacy *v1alpha1.Tenant) bool {
	to := legacy.Annotations[v1alpha1.AnnotationMigratedTo]
	return to != "" && to != migratedToValue
}

// LegacyResult is what a Tenant was migrated to, as the API server holds it.
type LegacyResult struct {
	// AITenant is the tenant.
	AITenant *v1alpha1.AITenant
	// Config is its MaasTenantConfig; nil when there is none.
	Config *v1alpha1.MaasTenantConfig
	// Namespace is the tenant's namespace.
	Namespace string
	// Place is where the Tenant was migrated to.
	Place LegacyPlace
}

// WhyKept says why the Tenant has to stay: an [apperr.UserError] that names what
// differs. Nil means that all that it says is in force elsewhere, so that it may go.
func WhyKept(legacy *v1alpha1.Tenant, in LegacyResult) error {
	switch {
	case legacy.Name != v1alpha1.DefaultTenantConfigName || legacy.Namespace != in.Namespace:
		return keep(legacy, "is not the Tenant of this tenant: delete it if nothing needs it")
	case MarkedForAnother(legacy, in.AITenant):
		return keep(legacy, "is annotated for another AITenant: correct the annotations, or delete it")
	case migratedElsewhere(legacy):
		return keep(legacy, "is annotated "+v1alpha1.AnnotationMigratedTo+" for something else: remove the annotation, or delete it")
	case !marked(legacy):
		return keep(legacy, "is not marked as migrated yet: the operator does that")
	case !holds(in):
		return keep(legacy, "stays until the MaasTenantConfig of the tenant is there and belongs to AITenant "+in.AITenant.Name+": see the AITenant's condition Ready")
	case !HasLegacyRecord(in.Config.Annotations, legacy):
		return keep(legacy, "was not copied yet: the operator does that")
	}
	fields, err := differing(legacy, in)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		return keep(legacy, "says something else than what is in force about "+strings.Join(fields, ", ")+": take over what you need into the AITenant or the MaasTenantConfig, and delete the Tenant")
	}
	return nil
}

func keep(legacy *v1alpha1.Tenant, why string) error {
	return apperr.Userf(v1alpha1.ReasonLegacyTenantKept, "Tenant %s/%s %s.", legacy.Namespace, legacy.Name, why)
}

// holds tells whether the tenant has a config of its own, and for longer than now.
func holds(in LegacyResult) bool {
	c := in.Config
	return c != nil && c.DeletionTimestamp == nil && c.Name == v1alpha1.DefaultTenantConfigName && c.Namespace == in.Namespace &&
		MarkedFor(c, in.AITenant) == Ours &&
		c.Labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedByValue &&
		c.Labels[v1alpha1.LabelManagedByAITenant] == "true" &&
		c.Labels[v1alpha1.LabelTenantName] == in.AITenant.Name &&
		c.Labels[v1alpha1.LabelTenantNamespace] == in.Namespace
}

// differing names the fields of the Tenant that say something else than what is in
// force. What the Tenant does not say differs from nothing.
func differing(legacy *v1alpha1.Tenant, in LegacyResult) ([]string, error) {
	var fields []string
	if oidc := legacy.Spec.ExternalOIDC; oidc != nil && (in.AITenant.Spec.OIDC == nil || *oidc != *in.AITenant.Spec.OIDC) {
		fields = append(fields, "spec.externalOIDC")
	}
	if name := in.Place.legacyGateway(legacy); name != "" {
		namespace := cmp.Or(legacy.Spec.GatewayRef.Namespace, in.Place.Gateway.Namespace)
		if namespace != in.Place.Gateway.Namespace || name != gatewayName(in.AITenant) {
			fields = append(fields, "spec.gatewayRef")
		}
	}
	inForce := in.Config.Spec
	said, err := overlay(inForce, settingsOf(legacy))
	if err != nil {
		return nil, fmt.Errorf("compare Tenant %s/%s: %w", legacy.Namespace, legacy.Name, err)
	}
	for _, field := range []struct {
		name string
		same bool
	}{
		{"spec.apiKeys", equality.Semantic.DeepEqual(said.APIKeys, inForce.APIKeys)},
		{"spec.telemetry", equality.Semantic.DeepEqual(said.Telemetry, inForce.Telemetry)},
		{"spec.payloadProcessing", equality.Semantic.DeepEqual(said.PayloadProcessing, inForce.PayloadProcessing)},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields, nil
}

func gatewayName(t *v1alpha1.AITenant) string {
	if t.Spec.Gateway == nil || t.Spec.Gateway.Name == "" {
		return t.Name
	}
	return t.Spec.Gateway.Name
}
