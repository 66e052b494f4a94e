// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Subjects are the callers a MaaSAuthPolicy admits: whoever is in one of the groups
// or is one of the users.
// +kubebuilder:validation:XValidation:rule="(has(self.groups) && size(self.groups) > 0) || (has(self.users) && size(self.users) > 0)",message="at least one group or user must be specified in subjects"
type Subjects struct {
	// groups whose members are admitted, each an object with a name:
	// "groups: [{name: data-scientists}]". At most 256. Default: none. Mutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Groups []GroupReference `json:"groups,omitempty"`

	// users who are admitted, each a plain string:
	// "users: [alice, system:serviceaccount:apps:bot]". At most 256, each 1 to 320
	// characters without control characters, compared exactly and case sensitively.
	// Default: none. Mutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=320
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1f\x7f-\x9f]*$`
	Users []string `json:"users,omitempty"`
}

// MeteringMetadata describes to whom usage is charged.
//
// Deprecated: it is stored but nothing uses it; set spec.tokenMetadata of the
// MaaSSubscription instead.
type MeteringMetadata struct {
	// organizationId is an identifier of the organization. Not used. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	OrganizationID string `json:"organizationId,omitempty"`

	// costCenter is an identifier of the cost center. Not used. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CostCenter string `json:"costCenter,omitempty"`

	// labels are further key-value pairs, at most 32. Not used. Mutable.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]string `json:"labels,omitempty"`
}

// MaaSAuthPolicySpec says who may call which models.
type MaaSAuthPolicySpec struct {
	// modelRefs are the models the subjects may call, 1 to 128, each listed once.
	// Required. Mutable.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="size(self) > 128 || !self.all(x, has(x.name) && has(x.__namespace__)) || self.all(x, self.exists_one(y, x.name == y.name && x.__namespace__ == y.__namespace__))",message="modelRefs must not name the same model (namespace and name) more than once"
	ModelRefs []ModelReference `json:"modelRefs"`

	// subjects says who may call the models; at least one group or user. Required.
	// Mutable.
	// +required
	Subjects Subjects `json:"subjects"`

	// meteringMetadata is accepted for compatibility and ignored; set
	// spec.tokenMetadata of the MaaSSubscription instead. Deprecated. Mutable.
	// +optional
	MeteringMetadata *MeteringMetadata `json:"meteringMetadata,omitempty"`
}

// AuthPolicyRefStatus reports on one generated AuthPolicy.
type AuthPolicyRefStatus struct {
	ResourceRefStatus `json:",inline"`

	// model is the name of the MaaSModelRef the AuthPolicy protects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Model string `json:"model"`

	// modelNamespace is the namespace of that MaaSModelRef.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ModelNamespace string `json:"modelNamespace"`
}

// MaaSAuthPolicyStatus reports whether the access is enforced.
type MaaSAuthPolicyStatus struct {
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
	Phase Phase `json:"phase,omitempty"`

	// authPolicies are the generated Kuadrant AuthPolicies, one per model.
	// +optional
	// +listType=atomic
	AuthPolicies []AuthPolicyRefStatus `json:"authPolicies,omitempty"`
}

// MaaSAuthPolicy grants groups and users access to models. All policies that name a
// model add up; a model named by none refuses everybody. Access alone is not enough
// for inference: the caller also needs a MaaSSubscription.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=maasauthpolicies,singular=maasauthpolicy
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="AuthPolicies",type=string,priority=1,JSONPath=`.status.authPolicies[*].name`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: set spec.modelRefs and spec.subjects",fieldPath=".spec",reason=FieldValueRequired,optionalOldSelf=true
type MaaSAuthPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says who may call which models. Required.
	// +optional
	Spec MaaSAuthPolicySpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status MaaSAuthPolicyStatus `json:"status,omitzero"`
}

// MaaSAuthPolicyList is a list of MaaSAuthPolicies.
// +kubebuilder:object:root=true
type MaaSAuthPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []MaaSAuthPolicy `json:"items"`
}
