// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"github.com/opendatahub-io/maas-operator/internal/render"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Settings are what the manager was started with.
type Settings struct {
	// InfraNamespace is where maas-api runs.
	InfraNamespace string
	// Audience is the token audience of the cluster.
	Audience string
	// MetadataCacheTTL and AuthorizationCacheTTL are in seconds.
	MetadataCacheTTL, AuthorizationCacheTTL int64
}

// Input is everything the policies of one tenant depend on.
type Input struct {
	// Tenant is the tenant, with its Gateway.
	Tenant tenancy.Context
	// TenantNamespace is where the tenant's subscriptions and auth policies live.
	TenantNamespace string
	// AcceptKeyHeader allows API keys in x-api-key.
	AcceptKeyHeader bool
	// Settings are the manager's.
	Settings Settings
	// Labels are those of the tenant's objects, without the component.
	Labels map[string]string
}

// Ids of the templates.
const (
	GatewayAuthTemplate   render.ID = "gateway/authpolicy-gateway-default-auth"
	GatewayDenyTemplate   render.ID = "gateway/tokenratelimitpolicy-gateway-default-deny"
	MaaSAPIPolicyTemplate render.ID = "tenant/authpolicy-maas-api-auth-policy"
)

// Guard are the policies of the Gateway itself, in its namespace. They refuse every
// request that no other policy is in charge of.
func Guard(in Input) ([]render.Request, error) {
	return nil, nil
}

// MaaSAPIPolicy is the policy of the HTTPRoute that leads to maas-api. It fails
// with an [apperr.UserError] while the tenant's provider is not usable: its users
// would be refused, and their tokens shown to the cluster.
func MaaSAPIPolicy(in Input) (render.Request, error) {
	return render.Request{}, nil
}
