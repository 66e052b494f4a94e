// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TenantAPIKeysConfig governs the API keys of a tenant.
type TenantAPIKeysConfig struct {
	// maxExpirationDays is the longest life in days a user can ask for when making an
	// API key. Minimum 1. Default: 90, applied by the operator. Mutable; existing keys
	// keep their life.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxExpirationDays *int32 `json:"maxExpirationDays,omitempty"`

	// deletionRetentionDays is the time in days for which keys that were invalidated
	// by deleting their tenant are kept before they are removed from the database.
	// Default 90, minimum 1. Mutable.
	// +optional
	// +kubebuilder:default=90
	// +kubebuilder:validation:Minimum=1
	DeletionRetentionDays *int32 `json:"deletionRetentionDays,omitempty"`
}

// TelemetryMetricsConfig chooses the labels of usage metrics.
type TelemetryMetricsConfig struct {
	// captureOrganization adds the label organization_id. Default true. Mutable.
	// +optional
	// +kubebuilder:default=true
	CaptureOrganization *bool `json:"captureOrganization,omitempty"`

	// captureUser adds the label user: privacy sensitive. Default false. Mutable.
	// +optional
	// +kubebuilder:default=false
	CaptureUser *bool `json:"captureUser,omitempty"`

	// captureGroup adds the label group: many more series. Default false. Mutable.
	// +optional
	// +kubebuilder:default=false
	CaptureGroup *bool `json:"captureGroup,omitempty"`

	// captureModelUsage adds the label model. Default true. Mutable.
	// +optional
	// +kubebuilder:default=true
	CaptureModelUsage *bool `json:"captureModelUsage,omitempty"`
}

// TelemetryLogsConfig chooses the fields of usage logs. It is independent of the
// labels of metrics.
type TelemetryLogsConfig struct {
	// captureUser adds the field user_id: privacy sensitive. Default false. Mutable.
	// +optional
	// +kubebuilder:default=false
	CaptureUser *bool `json:"captureUser,omitempty"`

	// captureOrganization adds the field organization_id. Default true. Mutable.
	// +optional
	// +kubebuilder:default=true
	CaptureOrganization *bool `json:"captureOrganization,omitempty"`
}

// TenantTelemetryConfig governs the telemetry of a tenant's gateway.
type TenantTelemetryConfig struct {
	// enabled creates the TelemetryPolicy and the Istio Telemetry of the tenant's
	// gateway. Default true, also when telemetry or spec is left out. Mutable.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`

	// metrics chooses the labels of usage metrics. Default: see its fields. Mutable.
	// +optional
	Metrics *TelemetryMetricsConfig `json:"metrics,omitempty"`

	// logs chooses the fields of usage logs. Default: see its fields. Mutable.
	// +optional
	Logs *TelemetryLogsConfig `json:"logs,omitempty"`
}

// PayloadAutoscalingConfig scales payload processing with its load.
type PayloadAutoscalingConfig struct {
	// maxReplicas is the largest number of replicas, 1 to 100. Default 10. Mutable.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`

	// targetCPUUtilization is the mean CPU use aimed at, in percent of the requested
	// CPU, 1 to 100. Default 70. Mutable.
	// +optional
	// +kubebuilder:default=70
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TargetCPUUtilization *int32 `json:"targetCPUUtilization,omitempty"`

	// targetMemoryUtilization is the mean memory use aimed at, in percent of the
	// requested memory, 1 to 100. Default 80. Mutable.
	// +optional
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	TargetMemoryUtilization *int32 `json:"targetMemoryUtilization,omitempty"`
}

// PayloadProcessingConfig sizes the payload processing of a tenant.
type PayloadProcessingConfig struct {
	// replicas is the number of replicas, the smallest number when autoscaling is
	// set. 1 to 100. Default: 1, applied by the operator. Mutable.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling, when present (even empty), scales with the load. Default: off.
	// Mutable.
	// +optional
	Autoscaling *PayloadAutoscalingConfig `json:"autoscaling,omitempty"`
}

// MaasTenantConfigSpec configures the services of a tenant. Nothing in it is
// required.
type MaasTenantConfigSpec struct {
	// apiKeys governs the API keys of the tenant. Default: see its fields. Mutable.
	// +optional
	APIKeys *TenantAPIKeysConfig `json:"apiKeys,omitempty"`

	// telemetry governs metrics and usage logs. Default: see its fields. Mutable.
	// +optional
	Telemetry *TenantTelemetryConfig `json:"telemetry,omitempty"`

	// payloadProcessing sizes the payload processing. Default: see its fields.
	// Mutable.
	// +optional
	PayloadProcessing *PayloadProcessingConfig `json:"payloadProcessing,omitempty"`
}

// MaasTenantConfigStatus reports on the services of the tenant.
type MaasTenantConfigStatus struct {
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

	// phase sums the conditions up in one word. Empty while the tenant is unmanaged.
	// +optional
	Phase TenantPhase `json:"phase,omitempty"`

	// infraNamespace is the namespace in which the tenant's maas-api runs and looks
	// for its database Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	InfraNamespace string `json:"infraNamespace,omitempty"`

	// inventory lists the objects written for this one, sorted. What is in it and no
	// longer wanted is removed. At most 512.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Inventory []InventoryEntry `json:"inventory,omitempty"`
}

// MaasTenantConfig configures the services of one tenant. There is one in each
// tenant's namespace; the operator creates it and its name must be "default-tenant".
// Gateway and OIDC settings are in the AITenant.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=maastenantconfigs,singular=maastenantconfig
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="InfraNamespace",type=string,priority=1,JSONPath=`.status.infraNamespace`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name == 'default-tenant'",message="MaasTenantConfig name must be default-tenant: there is one per tenant namespace",optionalOldSelf=true
type MaasTenantConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec configures the services of the tenant. Default: see its fields.
	// +optional
	Spec MaasTenantConfigSpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status MaasTenantConfigStatus `json:"status,omitzero"`
}

// MaasTenantConfigList is a list of MaasTenantConfigs.
// +kubebuilder:object:root=true
type MaasTenantConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []MaasTenantConfig `json:"items"`
}
