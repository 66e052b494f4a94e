// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TenantSpec is the configuration of a tenant as earlier releases had it.
type TenantSpec struct {
	// gatewayRef names the tenant's Gateway. Moved to AITenant spec.gateway.
	// +optional
	GatewayRef *TenantGatewayRef `json:"gatewayRef,omitempty"`

	// externalOIDC admits tokens of an OIDC identity provider. Moved to AITenant
	// spec.oidc.
	// +optional
	ExternalOIDC *TenantExternalOIDCConfig `json:"externalOIDC,omitempty"`

	// apiKeys governs API keys. Moved to MaasTenantConfig spec.apiKeys.
	// +optional
	APIKeys *TenantAPIKeysConfig `json:"apiKeys,omitempty"`

	// telemetry governs telemetry. Moved to MaasTenantConfig spec.telemetry.
	// +optional
	Telemetry *TenantTelemetryConfig `json:"telemetry,omitempty"`

	// payloadProcessing sizes payload processing. Moved to MaasTenantConfig
	// spec.payloadProcessing.
	// +optional
	PayloadProcessing *PayloadProcessingConfig `json:"payloadProcessing,omitempty"`
}

// TenantStatus is the last status an earlier release wrote.
type TenantStatus struct {
	// observedGeneration is the metadata.generation this status was computed for.
	// When it is smaller than metadata.generation the status is about an earlier
	// spec.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the latest observations, one per type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase is the last phase an earlier release wrote.
	// +optional
	Phase TenantPhase `json:"phase,omitempty"`
}

// Tenant is the predecessor of AITenant and MaasTenantConfig. The operator migrates a
// Tenant named "default-tenant" once and then removes it; create an AITenant instead.
//
// Deprecated: use AITenant and MaasTenantConfig.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=tenants,singular=tenant
// +kubebuilder:deprecatedversion:warning="maas.opendatahub.io/v1alpha1 Tenant is deprecated: use AITenant for Gateway and OIDC settings and MaasTenantConfig for the rest"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name == 'default-tenant'",message="Tenant name must be default-tenant: there is one per tenant namespace",optionalOldSelf=true
type Tenant struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the configuration to migrate.
	// +optional
	Spec TenantSpec `json:"spec,omitzero"`

	// status is no longer written.
	// +optional
	Status TenantStatus `json:"status,omitzero"`
}

// TenantList is a list of Tenants.
// +kubebuilder:object:root=true
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Tenant `json:"items"`
}
