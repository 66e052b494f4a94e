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
	// 1 to 253 letters, digits, spaces inside and characters of "._:/@+~-". Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:/@+~\-]([A-Za-z0-9 ._:/@+~\-]*[A-Za-z0-9._:/@+~\-])?$`
	TargetModel string `json:"targetModel"`

	// endpoint is the provider's host name, without scheme, port and path, for example
	// "api.openai.com". Required, 1 to 253 characters. It must have at least two labels
	// and lead out of the cluster: IP addresses in any notation, and names below
	// localhost, local, svc and internal, are refused. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(.*[.])?([0-9]+|0[xX][0-9a-fA-F]*)$')",message="endpoint must be a host name, not an IP address: name the provider's host"
	// +kubebuilder:validation:XValidation:rule="self.contains('.')",message="endpoint must have at least two labels: a single one is a name inside of the cluster"
	// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().matches('(^|[.])(localhost|local|svc|internal)$')",message="endpoint must not end in localhost, local, svc or internal: such names lead into the cluster or to its nodes"
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?)*$`
	Endpoint string `json:"endpoint"`

	// credentialRef names the Secret with the provider's API key. Required. Mutable.
	// +required
	CredentialRef CredentialReference `json:"credentialRef"`

	// port is the provider's port, 1 to 65535. When left out the annotation
	// maas.opendatahub.io/port counts, and without it 443. Mutable.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// tls says whether the provider is spoken to over TLS, with its certificate
	// verified. When left out the annotation maas.opendatahub.io/tls counts, and without
	// it true. Without TLS the provider's API key crosses the network readable for
	// everybody on the way. Mutable.
	// +optional
	TLS *bool `json:"tls,omitempty"`

	// pathPrefix is where the provider's API begins, for example "/openai". Requests
	// reach the provider below it: it takes the place of /<namespace>/<name>, or comes
	// before the path of requests that name the model in a header, which has to begin with
	// /v1 then. When left out the path is passed on as it is. It starts with "/", has segments of letters, digits and
	// ".", "_", "~" and "-", and none that is "." or "..". At most 512 characters.
	// Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/([A-Za-z0-9._~\-]+(/[A-Za-z0-9._~\-]+)*/?)?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="pathPrefix must not have a segment that is . or .."
	PathPrefix string `json:"pathPrefix,omitempty"`
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
// with a MaaSModelRef at the Gateway of the default tenant. The kind of the same name in
// group inference.opendatahub.io can do more and wins where both exist.
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
