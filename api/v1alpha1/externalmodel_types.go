// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CredentialReference names the Secret with a provider's API key.
type CredentialReference struct {
	// name of the Secret in the same namespace; its data key "api-key" holds the
	// credential. Required, 1 to 253 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ExternalModelSpec says where the model is and how it is called.
type ExternalModelSpec struct {
	// provider is the style of API and credential, for example "openai", "anthropic",
	// "azure-openai", "vertex-openai" or "bedrock-openai". Any other name is accepted.
	// Required, 1 to 63 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Provider string `json:"provider"`

	// targetModel is the provider's name of the model, for example "gpt-4o". Required,
	// 1 to 253 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TargetModel string `json:"targetModel"`

	// endpoint is the provider's host name, without scheme, port and path, for example
	// "api.openai.com". Required, 1 to 253 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)*$`
	Endpoint string `json:"endpoint"`

	// credentialRef names the Secret with the provider's API key. Required. Mutable.
	// +required
	CredentialRef CredentialReference `json:"credentialRef"`
}

// ExternalModelStatus reports whether the model can be reached through the gateway.
type ExternalModelStatus struct {
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
	Phase ExternalModelPhase `json:"phase,omitempty"`
}

// ExternalModel describes a model of a provider outside the cluster, to be published
// with a MaaSModelRef. The annotations maas.opendatahub.io/port (default 443) and
// maas.opendatahub.io/tls (default true) change how the provider is reached. The
// kind of the same name in group inference.opendatahub.io can do more and wins where
// both exist.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=externalmodels,singular=externalmodel
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="TargetModel",type=string,JSONPath=`.spec.targetModel`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: set spec.provider, spec.targetModel, spec.endpoint and spec.credentialRef",fieldPath=".spec",reason=FieldValueRequired,optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 58",message="the name of an ExternalModel must be at most 58 characters long, because objects named maas-<name> are made from it",optionalOldSelf=true
type ExternalModel struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says where the model is and how it is called. Required.
	// +optional
	Spec ExternalModelSpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status ExternalModelStatus `json:"status,omitzero"`
}

// ExternalModelList is a list of ExternalModels.
// +kubebuilder:object:root=true
type ExternalModelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ExternalModel `json:"items"`
}
