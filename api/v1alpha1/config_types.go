// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigName is the only name a Config may have.
const ConfigName = "default"

// Who manages the egress NetworkPolicy of maas-api.
const (
	// EgressNetworkPolicyManaged: the operator creates and repairs the policy.
	EgressNetworkPolicyManaged EgressNetworkPolicyMode = "Managed"
	// EgressNetworkPolicyDisabled: the operator removes its policy; traffic is then
	// governed by the policies of the cluster's administrators alone.
	EgressNetworkPolicyDisabled EgressNetworkPolicyMode = "Disabled"
)

// EgressNetworkPolicyMode says who manages the egress NetworkPolicy of maas-api.
// +kubebuilder:validation:Enum=Managed;Disabled
type EgressNetworkPolicyMode string

// Whether the installation is there.
const (
	// ManagementStateManaged: the operator keeps the installation.
	ManagementStateManaged ManagementState = "Managed"
	// ManagementStateRemoved: the operator takes the installation down: all tenants
	// with their keys, then the shared objects. User namespaces and objects stay.
	ManagementStateRemoved ManagementState = "Removed"
)

// ManagementState says whether the installation is to be there.
// +kubebuilder:validation:Enum=Managed;Removed
type ManagementState string

// ConfigSpec holds the settings of the whole installation.
// +kubebuilder:validation:XValidation:rule="!has(self.maasApiEgressNetworkPolicy) || self.maasApiEgressNetworkPolicy != 'Disabled' || (!has(self.networkPolicyEgressRules) && !has(self.networkPolicyAdditionalEgressRules))",message="networkPolicyEgressRules and networkPolicyAdditionalEgressRules must not be set when maasApiEgressNetworkPolicy is Disabled"
type ConfigSpec struct {
	// managementState is "Managed", or "Removed" to have the operator take down all
	// tenants, revoke their keys and remove what it made; namespaces and the objects
	// of users stay. Condition TeardownCompleted says when that is done; "Managed"
	// brings the default tenant back. Default "Managed". Mutable.
	// +optional
	// +kubebuilder:default=Managed
	ManagementState ManagementState `json:"managementState,omitempty"`

	// limitadorScrapeInterval is the interval at which Prometheus reads the rate
	// limiter's metrics: numbers with the units ms, s, m or h, for example "30s" or
	// "1m30s". Default "30s", at most 16 characters. Mutable.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	LimitadorScrapeInterval string `json:"limitadorScrapeInterval,omitempty"`

	// usageLogging writes a log record for each inference request of all tenants. Who the
	// caller is, which is privacy sensitive, is in it where the MaasTenantConfig of the
	// tenant says so: see spec.telemetry.logs there. Default false. Mutable.
	// +optional
	// +kubebuilder:default=false
	UsageLogging bool `json:"usageLogging,omitempty"`

	// networkPolicyEgressRules replaces the default egress rules (DNS, Kubernetes API,
	// everything else) of the NetworkPolicy maas-api-egress-restrict. DNS, the
	// Kubernetes API and the database must be among them. 1 to 64 rules; must not be
	// set when maasApiEgressNetworkPolicy is Disabled. Default: the default rules.
	// Mutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	NetworkPolicyEgressRules []networkingv1.NetworkPolicyEgressRule `json:"networkPolicyEgressRules,omitempty"`

	// networkPolicyAdditionalEgressRules are appended to the egress rules of the
	// NetworkPolicy maas-api-egress-restrict; the default rule that allows everything
	// stays. At most 64 rules; must not be set when maasApiEgressNetworkPolicy is
	// Disabled. Default: none. Mutable.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	NetworkPolicyAdditionalEgressRules []networkingv1.NetworkPolicyEgressRule `json:"networkPolicyAdditionalEgressRules,omitempty"`

	// maasApiEgressNetworkPolicy is "Managed", or "Disabled" to have the operator
	// remove the NetworkPolicy maas-api-egress-restrict and leave the egress of
	// maas-api to policies of your own. Default "Managed". Mutable.
	// +optional
	// +kubebuilder:default=Managed
	MaasAPIEgressNetworkPolicy EgressNetworkPolicyMode `json:"maasApiEgressNetworkPolicy,omitempty"`
}

// ConfigStatus reports on the shared objects of the installation.
type ConfigStatus struct {
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

	// inventory lists the objects written for this one, sorted. What is in it and no
	// longer wanted is removed. At most 512.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Inventory []InventoryEntry `json:"inventory,omitempty"`
}

// Config holds the settings of the whole installation and owns its shared objects:
// deleting it removes Models as a Service from the cluster. There is one, named
// "default"; the operator creates it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=configs,singular=config,shortName=maasconfig
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name == 'default'",message="Config name must be default",optionalOldSelf=true
type Config struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec holds the settings. Default: see its fields.
	// +optional
	Spec ConfigSpec `json:"spec,omitzero"`

	// status is written by the operator.
	// +optional
	Status ConfigStatus `json:"status,omitzero"`
}

// ConfigList is a list of Configs.
// +kubebuilder:object:root=true
type ConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Config `json:"items"`
}
