// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Backend kinds a MaaSModelRef can publish.
const (
	// BackendLLMInferenceService is a model served in the cluster by KServe.
	BackendLLMInferenceService BackendKind = "LLMInferenceService"
	// BackendExternalModel is a model of a provider outside the cluster.
	BackendExternalModel BackendKind = "ExternalModel"
)

// BackendKind is the kind of the object that serves a model.
// +kubebuilder:validation:Enum=LLMInferenceService;ExternalModel
type BackendKind string

// BackendReference names the object that serves the model, in the namespace of the
// MaaSModelRef.
type BackendReference struct {
	// kind of the backend: "LLMInferenceService" (KServe, in the cluster) or
	// "ExternalModel" (a provider outside the cluster). Required. Mutable.
	// +required
	Kind BackendKind `json:"kind"`

	// name of the backend object in the same namespace. Required, 1 to 253
	// characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MaaSModelRefSpec says which model is published.
type MaaSModelRefSpec struct {
	// modelRef names the backend that serves the model. Required. Mutable.
	// +required
	ModelRef BackendReference `json:"modelRef"`

	// endpointOverride replaces the discovered URL of the model in
	// status.endpoint once the model is Ready. Clients send their credentials
	// there, so it must be an https URL: a host with optional port and path, without
	// credentials, query or fragment, for example
	// "https://models.example.com/llm/granite". At most 2048 characters. Default: the
	// discovered URL. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="size(self) > 2048 || size(self) == 0 || (isURL(self) && self.matches('^https://[^/?#@\\\\s]+(/[^?#\\\\s]*)?$'))",message="endpointOverride must be an https URL with a host and an optional path, without credentials, query or fragment, for example https://models.example.com/llm/granite"
	EndpointOverride string `json:"endpointOverride,omitempty"`

	// tenantRef is the name of the AITenant the model belongs to. Default: the
	// tenant that owns the namespace of the MaaSModelRef, else the default tenant. A
	// model belongs to exactly one tenant. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	TenantRef string `json:"tenantRef,omitempty"`
}

// MaaSModelRefStatus reports where the model is served and whether it can be used.
// It never names the policies or subscriptions that refer to the model.
type MaaSModelRefStatus struct {
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
	Phase ModelPhase `json:"phase,omitempty"`

	// endpoint is the URL of the model, with its path. Empty unless the phase is
	// Ready.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// baseURL is the URL shared by all models that the gateway tells apart by the
	// "model" field of the request body. Empty when the gateway does not route by
	// body, and unless the phase is Ready.
	// +optional
	BaseURL string `json:"baseURL,omitempty"`

	// httpRouteName is the name of the HTTPRoute that serves the model.
	// +optional
	HTTPRouteName string `json:"httpRouteName,omitempty"`

	// httpRouteNamespace is the namespace of that HTTPRoute; the generated policies
	// live there.
	// +optional
	HTTPRouteNamespace string `json:"httpRouteNamespace,omitempty"`

	// httpRouteGatewayName is the name of the Gateway the HTTPRoute is attached to:
	// the tenant's Gateway if the route has it as a parent, else its first parent.
	// +optional
	HTTPRouteGatewayName string `json:"httpRouteGatewayName,omitempty"`

	// httpRouteGatewayNamespace is the namespace of that Gateway.
	// +optional
	HTTPRouteGatewayNamespace string `json:"httpRouteGatewayNamespace,omitempty"`

	// httpRouteHostnames are the host names of the HTTPRoute.
	// +optional
	// +listType=atomic
	HTTPRouteHostnames []string `json:"httpRouteHostnames,omitempty"`

	// resolvedTenantRef is the value of spec.tenantRef after that AITenant was found.
	// Empty when spec.tenantRef is empty.
	// +optional
	ResolvedTenantRef string `json:"resolvedTenantRef,omitempty"`

	// tenant is the name of the tenant the model belongs to: the AITenant that
	// spec.tenantRef names, else the tenant of the namespace, which is
	// "models-as-a-service" for a namespace of no other tenant. Empty while that cannot
	// be told; the model is then nobody's, and no maas-api serves it.
	// +optional
	Tenant string `json:"tenant,omitempty"`

	// resolvedModelAlias is the name clients write in the "model" field of a request
	// body when the gateway routes by body. Once known it is kept until the spec changes.
	// +optional
	ResolvedModelAlias string `json:"resolvedModelAlias,omitempty"`
}

// MaaSModelRef publishes a model through Models as a Service. Access is granted by a
// MaaSAuthPolicy and usage by a MaaSSubscription that refer to it; without both,
// every request to the model is refused.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=maasmodelrefs,singular=maasmodelref
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Policies",type=string,JSONPath=`.status.conditions[?(@.type=="PoliciesApplied")].reason`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="HTTPRoute",type=string,JSONPath=`.status.httpRouteName`
// +kubebuilder:printcolumn:name="Gateway",type=string,JSONPath=`.status.httpRouteGatewayName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Governed",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="GovernanceAttached")].status`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: set spec.modelRef.kind and spec.modelRef.name",fieldPath=".spec",reason=FieldValueRequired,optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",message="the name of a MaaSModelRef must be at most 63 characters long, because policies and subscriptions refer to it and labels carry it",optionalOldSelf=true
type MaaSModelRef struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says which model is published. Required.
	// +optional
	Spec MaaSModelRefSpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status MaaSModelRefStatus `json:"status,omitzero"`
}

// MaaSModelRefList is a list of MaaSModelRefs.
// +kubebuilder:object:root=true
type MaaSModelRefList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []MaaSModelRef `json:"items"`
}
