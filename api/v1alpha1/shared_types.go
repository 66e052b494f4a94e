// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ModelReference names a MaaSModelRef, in any namespace of the same tenant.
type ModelReference struct {
	// name of the MaaSModelRef. Required, at most 63 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// namespace of the MaaSModelRef. Required, at most 63 characters; there is no
	// default, not even the namespace of the referring object. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// GroupReference names a group as the cluster or the identity provider reports it.
type GroupReference struct {
	// name of the group, compared exactly and case sensitively, for example
	// "system:authenticated" or "data-scientists". Required, 1 to 253 characters
	// without control characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	Name string `json:"name"`
}

// ResourceRefStatus reports on one object that a policy or subscription refers to.
type ResourceRefStatus struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// ready tells whether the object exists and does its part.
	// +required
	Ready bool `json:"ready"`

	// reason is a CamelCase word for the state, for example "Valid" or "NotFound".
	// New words may be added in any release.
	// +optional
	Reason ConditionReason `json:"reason,omitempty"`

	// message explains the state in one sentence, at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// TenantGatewayRef names a Gateway.
type TenantGatewayRef struct {
	// namespace of the Gateway. Default "openshift-ingress". At most 63 characters.
	// +optional
	// +kubebuilder:default=openshift-ingress
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// name of the Gateway. Default "maas-default-gateway". At most 63 characters.
	// +optional
	// +kubebuilder:default=maas-default-gateway
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// TenantExternalOIDCConfig lets users of an OIDC identity provider call a tenant's
// API with the provider's tokens, beside cluster tokens and API keys.
type TenantExternalOIDCConfig struct {
	// issuerUrl is the issuer of the tokens, exactly as in their "iss" claim, for
	// example "https://keycloak.example.com/realms/maas". Required, https only,
	// 9 to 2048 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https://\S+$`
	IssuerURL string `json:"issuerUrl"`

	// clientId is the client the tokens must have been issued for: the "azp" claim
	// equals it, or "azp" is absent and "aud" contains it. Required, 1 to 256
	// characters without white space. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^\S+$`
	ClientID string `json:"clientId"`

	// ttl is the time in seconds for which the provider's signing keys are cached.
	// Default 300, minimum 30. Mutable.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=30
	TTL int32 `json:"ttl,omitempty"`
}

// InventoryEntry names an object that the operator has written and will remove when
// it is no longer wanted.
type InventoryEntry struct {
	// group of the object; empty for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// namespace of the object; empty for one of the whole cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
