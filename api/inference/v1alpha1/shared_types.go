// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Phases of an ExternalModel and an ExternalProvider.
const (
	// PhasePending: not set up yet.
	PhasePending Phase = "Pending"
	// PhaseReady: set up.
	PhaseReady Phase = "Ready"
	// PhaseFailed: somebody must act.
	PhaseFailed Phase = "Failed"
)

// Phase is the state of an ExternalModel or ExternalProvider in one word.
// +kubebuilder:validation:Enum=Pending;Ready;Failed
type Phase string

// Ways to authenticate at a provider.
const (
	// AuthTypeAPIKey sends an API key.
	AuthTypeAPIKey AuthType = "apikey"
	// AuthTypeSimple is the older name of AuthTypeAPIKey.
	AuthTypeSimple AuthType = "simple"
	// AuthTypeSigV4 signs requests as AWS asks for.
	AuthTypeSigV4 AuthType = "sigv4"
	// AuthTypeOAuth2 sends an OAuth 2 access token.
	AuthTypeOAuth2 AuthType = "oauth2"
)

// AuthType is a way to authenticate at a provider.
// +kubebuilder:validation:Enum=apikey;simple;sigv4;oauth2
type AuthType string

// LocalReference names an object in the same namespace.
type LocalReference struct {
	// name of the object. Required, 1 to 253 characters: lower case letters, digits and
	// -. Mutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9\-]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ProviderAuth says how to authenticate at a provider.
type ProviderAuth struct {
	// type is "apikey", "simple" (older name of apikey), "sigv4" or "oauth2". Required.
	// Mutable.
	// +required
	Type AuthType `json:"type"`

	// secretRef names the Secret with the credential, in the same namespace. Required.
	// Mutable.
	// +required
	SecretRef LocalReference `json:"secretRef"`
}
