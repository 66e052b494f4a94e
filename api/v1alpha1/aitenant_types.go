// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AITenantGatewayRef names the Gateway of a tenant.
type AITenantGatewayRef struct {
	// name of the Gateway, in the Gateway namespace the operator is configured with;
	// it must exist, and no other tenant may use it. Default: the name of the
	// AITenant. At most 63 characters. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
}

// AITenantSubject is a subject of the deprecated rbac section.
type AITenantSubject struct {
	// kind is "User", "Group" or "ServiceAccount". Ignored.
	// +required
	// +kubebuilder:validation:Enum=User;Group;ServiceAccount
	Kind string `json:"kind"`

	// name of the subject, 1 to 253 characters. Ignored.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of a ServiceAccount, at most 63 characters. Ignored.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// AITenantRBACConfig is accepted for compatibility and ignored.
//
// Deprecated: create RoleBindings to the tenant's Roles instead.
type AITenantRBACConfig struct {
	// admins are ignored, at most 128.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Admins []AITenantSubject `json:"admins,omitempty"`
}

// AITenantSpec says how the tenant is reached and who may sign in.
type AITenantSpec struct {
	// gateway names the tenant's Gateway. Default: the Gateway with the name of the
	// AITenant. Mutable.
	// +optional
	Gateway *AITenantGatewayRef `json:"gateway,omitempty"`

	// oidc admits tokens of an OIDC identity provider. Default: cluster tokens and
	// API keys only. Mutable.
	// +optional
	OIDC *TenantExternalOIDCConfig `json:"oidc,omitempty"`

	// rbac is accepted for compatibility and ignored: no RoleBinding is ever made from
	// it. Create RoleBindings to the tenant's Roles instead. Deprecated.
	// +optional
	RBAC *AITenantRBACConfig `json:"rbac,omitempty"`
}

// AITenantStatus reports what was made for the tenant.
type AITenantStatus struct {
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

	// phase sums the conditions up in one word.
	// +optional
	Phase AITenantPhase `json:"phase,omitempty"`

	// tenantNamespace is the namespace for the tenant's policies and subscriptions.
	// +optional
	TenantNamespace string `json:"tenantNamespace,omitempty"`

	// gatewayRef is the tenant's Gateway.
	// +optional
	GatewayRef *TenantGatewayRef `json:"gatewayRef,omitempty"`
}

// AITenant is one tenant of Models as a Service: a namespace for its policies, a
// Gateway, a maas-api of its own. It must be created in the operator's AITenant
// namespace (default "ai-tenants"). Its name becomes part of other names, so it is a
// DNS label of at most 41 characters; the namespace of tenant "red" is
// "ai-tenant-red".
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=aitenants,singular=aitenant,shortName=ait
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].reason`
// +kubebuilder:printcolumn:name="Tenant Namespace",type=string,JSONPath=`.status.tenantNamespace`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.status.gatewayRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 41",message="the name of an AITenant must be at most 41 characters long, because names of the tenant's objects are made from it",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name of an AITenant must be a DNS label: lower case letters, digits and -, without dots, starting and ending with a letter or digit",optionalOldSelf=true
type AITenant struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says how the tenant is reached and who may sign in. Default: see its fields.
	// +optional
	Spec AITenantSpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status AITenantStatus `json:"status,omitzero"`
}

// AITenantList is a list of AITenants.
// +kubebuilder:object:root=true
type AITenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []AITenant `json:"items"`
}
