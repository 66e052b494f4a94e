// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Owner are the callers who may use a MaaSSubscription: whoever is in one of the
// groups or is one of the users.
// +kubebuilder:validation:XValidation:rule="(has(self.groups) && size(self.groups) > 0) || (has(self.users) && size(self.users) > 0)",message="at least one group or user must be specified in owner"
type Owner struct {
	// groups whose members own the subscription, each an object with a name:
	// "groups: [{name: data-scientists}]". At most 256. Default: none. Mutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Groups []GroupReference `json:"groups,omitempty"`

	// users who own the subscription, each a plain string, meant for service
	// accounts: "users: [system:serviceaccount:apps:bot]". At most 256, each 1 to 320
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

// TokenRateLimit allows a number of tokens per window of time.
type TokenRateLimit struct {
	// limit is the number of tokens (prompt and completion together) allowed per
	// window, 1 to 1000000000. Required. Mutable.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Limit int64 `json:"limit"`

	// window is the length of the window: 1 to 4 digits without leading zero and a
	// unit, s, m or h, for example "30s", "1m" or "24h"; at most 366 days ("8784h").
	// There is no unit for days. Windows are compared as written: "1m" and "60s" are
	// different limits. Required. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[1-9]\d{0,3}(s|m|h)$`
	// +kubebuilder:validation:XValidation:rule="size(self) > 32 || self.matches('^[1-9][0-9]{0,3}[smh]$')",message="window must be 1 to 4 digits without leading zero followed by s, m or h, for example 30s, 1m or 24h (there is no unit for days: write 24h)"
	// +kubebuilder:validation:XValidation:rule="size(self) > 32 || !self.matches('^[1-9][0-9]{3}h$') || int(self.substring(0, 4)) <= 8784",message="window must be at most 366 days (8784h)"
	Window string `json:"window"`
}

// BillingRate is a price.
type BillingRate struct {
	// perToken is the price of one token as a decimal number without sign or
	// exponent, for example "0.0000025". "0" is free; a missing price is unknown, not
	// free. It is shown to clients and not used for enforcement. Required, at most 32
	// characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="size(self) > 32 || self.matches('^(0|[1-9][0-9]*)([.][0-9]+)?$')",message="perToken must be a decimal number such as 0.0000025, without sign, exponent or currency"
	PerToken string `json:"perToken"`
}

// ModelSubscription grants the owner tokens of one model.
// +kubebuilder:validation:XValidation:rule="(has(self.unlimited) && self.unlimited) != (has(self.tokenRateLimits) && size(self.tokenRateLimits) > 0)",message="set either unlimited: true or at least one entry in tokenRateLimits, but not both"
type ModelSubscription struct {
	// name of the MaaSModelRef. Required, 1 to 63 characters. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// namespace of the MaaSModelRef. Required, 1 to 63 characters; there is no
	// default, not even the namespace of the subscription. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// unlimited, when true, grants tokens without limit; usage is still counted and
	// reported. Must not be set together with tokenRateLimits. Default false. Mutable.
	// +optional
	Unlimited bool `json:"unlimited,omitempty"`

	// tokenRateLimits are the limits for each user of the subscription on this model,
	// 1 to 8; all of them apply. Required unless unlimited is true. Mutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	TokenRateLimits []TokenRateLimit `json:"tokenRateLimits,omitempty"`

	// billingRate is the price of the model in this subscription, shown to clients.
	// Default: no price. Mutable.
	// +optional
	BillingRate *BillingRate `json:"billingRate,omitempty"`
}

// TokenMetadata describes to whom the usage of a subscription is attributed.
type TokenMetadata struct {
	// organizationId is attached to the usage of the subscription, for example
	// "acme", at most 256 characters. Default: none. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	OrganizationID string `json:"organizationId,omitempty"`

	// costCenter is attached to the usage of the subscription, for example "cc-42",
	// at most 256 characters. Default: none. Mutable.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CostCenter string `json:"costCenter,omitempty"`

	// labels are further key-value pairs shown to clients with the subscription, at
	// most 32. Default: none. Mutable.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]string `json:"labels,omitempty"`
}

// MaaSSubscriptionSpec says who may use how many tokens of which models.
type MaaSSubscriptionSpec struct {
	// owner says who may use the subscription; at least one group or user. Required.
	// Mutable.
	// +required
	Owner Owner `json:"owner"`

	// modelRefs are the models of the subscription with their limits, 1 to 128, each
	// model listed once. Required. Mutable.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:XValidation:rule="size(self) > 128 || !self.all(x, has(x.name) && has(x.__namespace__)) || self.all(x, self.exists_one(y, x.name == y.name && x.__namespace__ == y.__namespace__))",message="modelRefs must not name the same model (namespace and name) more than once"
	ModelRefs []ModelSubscription `json:"modelRefs"`

	// tokenMetadata describes to whom the usage is attributed. Default: nobody.
	// Mutable.
	// +optional
	TokenMetadata *TokenMetadata `json:"tokenMetadata,omitempty"`

	// priority decides which subscription a new API key is bound to when its owner
	// has several and names none: the highest wins, then the largest limit per second,
	// then namespace and name. It has no influence on requests. Default 0, minimum 0.
	// Mutable.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	Priority int32 `json:"priority,omitempty"`
}

// Identities a subscription can have in rate limiting.
const (
	// RateLimitIdentityShort: counters and predicates use the subscription's 16-digit
	// identifier.
	RateLimitIdentityShort RateLimitIdentity = "short"
	// RateLimitIdentityLegacy: counters and predicates use the model-scoped key of
	// earlier releases, so that counters survive an upgrade.
	RateLimitIdentityLegacy RateLimitIdentity = "legacy"
)

// RateLimitIdentity is the property by which rate limiting knows a subscription.
// +kubebuilder:validation:Enum=short;legacy
type RateLimitIdentity string

// ModelRefStatus reports on one entry of spec.modelRefs.
type ModelRefStatus struct {
	ResourceRefStatus `json:",inline"`
}

// TokenRateLimitStatus reports on the TokenRateLimitPolicy generated for one model.
type TokenRateLimitStatus struct {
	ResourceRefStatus `json:",inline"`

	// model is the name of the MaaSModelRef the TokenRateLimitPolicy limits.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Model string `json:"model"`
}

// MaaSSubscriptionStatus reports whether the limits are enforced.
type MaaSSubscriptionStatus struct {
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

	// modelRefStatuses has one entry per model of the subscription, in the order of
	// spec.modelRefs.
	// +optional
	// +listType=atomic
	ModelRefStatuses []ModelRefStatus `json:"modelRefStatuses,omitempty"`

	// tokenRateLimitStatuses has one entry per model of the subscription: the
	// generated TokenRateLimitPolicy.
	// +optional
	// +listType=atomic
	TokenRateLimitStatuses []TokenRateLimitStatus `json:"tokenRateLimitStatuses,omitempty"`

	// rateLimitIdentity is "short", or "legacy" for a subscription that existed before
	// an upgrade from a release without short identifiers. Set once, never changed.
	// +optional
	RateLimitIdentity RateLimitIdentity `json:"rateLimitIdentity,omitempty"`
}

// MaaSSubscription grants its owner tokens of models, each with limits per user and
// window, or without limit. A caller needs a subscription and, through a
// MaaSAuthPolicy, access.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=maassubscriptions,singular=maassubscription
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="has(self.spec) || (oldSelf.hasValue() && !has(oldSelf.value().spec))",message="spec is required: set spec.owner and spec.modelRefs",fieldPath=".spec",reason=FieldValueRequired,optionalOldSelf=true
type MaaSSubscription struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says who may use how many tokens of which models. Required.
	// +optional
	Spec MaaSSubscriptionSpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status MaaSSubscriptionStatus `json:"status,omitzero"`
}

// MaaSSubscriptionList is a list of MaaSSubscriptions.
// +kubebuilder:object:root=true
type MaaSSubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []MaaSSubscription `json:"items"`
}
