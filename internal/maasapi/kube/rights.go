// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	tlsfollow "github.com/opendatahub-io/maas-operator/internal/tlsprofile/follow"
)

// Scope is where a right is needed.
type Scope string

// The scopes. Only what no namespace can hold is granted for the whole cluster.
const (
	// ScopeCluster is the whole cluster: a ClusterRole.
	ScopeCluster Scope = "cluster"
	// ScopeSubscriptions is the namespace of the tenant's subscriptions.
	ScopeSubscriptions Scope = "subscriptions"
	// ScopeGateway is the namespace of the tenant's gateway.
	ScopeGateway Scope = "gateway"
	// ScopeDatabase is the namespace of maas-api itself.
	ScopeDatabase Scope = "database"
)

// Right is one thing that maas-api must be allowed to do.
type Right struct {
	Scope           Scope
	Group, Resource string
	// Named tells that the right is needed for one object only, whose name is known.
	Named bool
	Verbs []string
	// Why is one sentence, Without says what does not work when the right is missing.
	Why, Without string
}

// Rights are all rights of maas-api's ServiceAccount. What renders maas-api grants
// these and no others; config/maas-api/rbac holds them for the default tenant.
func Rights() []Right {
	follow := []string{"list", "watch"}
	get, create := []string{"get"}, []string{"create"}
	return []Right{
		{
			Scope: ScopeCluster, Group: v1alpha1.GroupVersion.Group, Resource: modelRefs.Resource, Verbs: follow,
			Why: "Models of a tenant may be in any namespace; status.tenant tells whose they are.", Without: "Never ready.",
		},
		{
			Scope: ScopeCluster, Group: authenticationv1.GroupName, Resource: "tokenreviews", Verbs: create,
			Why: "GET /v1/tenants reviews the caller's token itself.", Without: "GET /v1/tenants answers 503.",
		},
		{
			Scope: ScopeCluster, Group: authorizationv1.GroupName, Resource: "subjectaccessreviews", Verbs: create,
			Why: "Who may create auth policies is an admin of API keys; who may ask for their own rights may read GET /v1/tenants.", Without: "Nobody is an admin, and searching keys answers 500.",
		},
		{
			Scope: ScopeCluster, Group: tlsfollow.Resource().Group, Resource: tlsfollow.Resource().Resource, Named: true, Verbs: []string{"get", "list", "watch"},
			Why: "On OpenShift the TLS profile of the cluster counts. Elsewhere the rule has no effect.", Without: "The intermediate profile counts.",
		},
		{
			Scope: ScopeSubscriptions, Group: v1alpha1.GroupVersion.Group, Resource: subscriptions.Resource, Verbs: follow,
			Why: "Requests are charged to subscriptions, and keys are bound to them.", Without: "Never ready.",
		},
		{
			Scope: ScopeSubscriptions, Group: v1alpha1.GroupVersion.Group, Resource: authPolicies.Resource, Verbs: follow,
			Why: "Auth policies say who may use a model.", Without: "Never ready.",
		},
		{
			Scope: ScopeGateway, Group: "", Resource: "services", Verbs: []string{"list"},
			Why: "Models are probed through the gateway's own Service, which is found by its label.", Without: "No model of the cluster is listed.",
		},
		{
			Scope: ScopeGateway, Group: gwapiv1.GroupName, Resource: gateways.Resource, Named: true, Verbs: get,
			Why: "GET /v1/tenants shows where clients reach the gateway.", Without: "GET /v1/tenants answers 403.",
		},
		{
			Scope: ScopeDatabase, Group: "", Resource: "secrets", Named: true, Verbs: get,
			Why: "The Secret maas-db-config holds the address of the database.", Without: "Does not start, unless the address comes from a file.",
		},
	}
}
