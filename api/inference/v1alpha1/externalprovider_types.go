// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ExternalProviderSpec says where a provider is and how to authenticate there.
type ExternalProviderSpec struct {
	// provider is the style of API and credential, for example "openai" or
	// "anthropic". Required, 1 to 63 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Provider string `json:"provider"`

	// endpoint is the provider's host name, of at least two labels, without scheme,
	// port and path, for example "api.openai.com". Required, 1 to 253 characters.
	// Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)+$`
	Endpoint string `json:"endpoint"`

	// auth says how to authenticate. Required. Mutable.
	// +required
	Auth ProviderAuth `json:"auth"`

	// config are values for placeholders and settings of the provider's style.
	// Default: none. Mutable.
	// +optional
	Config map[string]string `json:"config,omitempty"`
}

// ExternalProviderStatus reports whether the provider can be used.
type ExternalProviderStatus struct {
	// observedGeneration is the metadata.generation this status was computed for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are the latest observations, one per type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase sums the conditions up in one word.
	// +optional
	Phase Phase `json:"phase,omitempty"`
}

// ExternalProvider describes a provider of models outside the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=externalproviders,singular=externalprovider
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: set spec.provider, spec.endpoint and spec.auth",fieldPath=".spec",reason=FieldValueRequired,optionalOldSelf=true
type ExternalProvider struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says where the provider is and how to authenticate there. Required.
	// +optional
	Spec ExternalProviderSpec `json:"spec,omitzero"`

	// status is not written by the operator: what a provider lacks is said by the
	// ExternalModels that name it.
	// +optional
	Status ExternalProviderStatus `json:"status,omitzero"`
}

// ExternalProviderList is a list of ExternalProviders.
// +kubebuilder:object:root=true
type ExternalProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ExternalProvider `json:"items"`
}
