// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ExternalProviderBinding says how a model is called at one provider.
type ExternalProviderBinding struct {
	// ref names the ExternalProvider in the same namespace. Required. Mutable.
	// +required
	Ref LocalReference `json:"ref"`

	// targetModel is the provider's name of the model, for example "gpt-4o". Required,
	// 1 to 253 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TargetModel string `json:"targetModel"`

	// apiFormat is the format of requests and replies: "openai-chat" or "messages"
	// (Anthropic). Required, 1 to 63 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	APIFormat string `json:"apiFormat"`

	// path is the path of the provider's API, for example "/v1/chat/completions"; it
	// may contain placeholders {key} that are filled from config. Required, starts with
	// /, at most 512 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/.*`
	Path string `json:"path"`

	// weight is the share of requests this provider is to get among all of the model, 0
	// to 100; 0 disables it. Requests are not divided: of those above 0 the first counts.
	// Default 1. Mutable.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Weight *int32 `json:"weight,omitempty"`

	// config are values for placeholders and settings; they override spec.config of the
	// ExternalProvider. Default: none. Mutable.
	// +optional
	Config map[string]string `json:"config,omitempty"`

	// auth overrides spec.auth of the ExternalProvider. Default: not overridden.
	// Mutable.
	// +optional
	Auth *ProviderAuth `json:"auth,omitempty"`
}

// ExternalModelSpec says which providers serve the model.
type ExternalModelSpec struct {
	// modelName is the name clients use. Default: the name of the object. At most 253
	// characters. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ModelName string `json:"modelName,omitempty"`

	// externalProviderRefs are the providers that serve the model, 1 to 64. All requests
	// go to the first one with a weight above 0. Required. Mutable.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	ExternalProviderRefs []ExternalProviderBinding `json:"externalProviderRefs"`
}

// ExternalModelStatus reports where the model is served.
type ExternalModelStatus struct {
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

	// httpRouteName is the name of the HTTPRoute that serves the model; policies are
	// attached to it.
	// +optional
	HTTPRouteName string `json:"httpRouteName,omitempty"`
}

// ExternalModel describes a model served by one or more providers outside the
// cluster, to be published with a MaaSModelRef.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=externalmodels,singular=externalmodel
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: set spec.externalProviderRefs",fieldPath=".spec",reason=FieldValueRequired,optionalOldSelf=true
type ExternalModel struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says which providers serve the model. Required.
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
