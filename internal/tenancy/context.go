// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy decides which tenant a namespace or a model belongs to, and
// with it the gateway, the OpenID Connect provider and the names of the
// tenant's objects. It is pure: package lookup below it reads the cluster.
package tenancy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

// DefaultName is the name of the default tenant.
const DefaultName = v1alpha1.DefaultAITenantName

// Context is the tenant something belongs to.
type Context struct {
	// Name is the AITenant's name; the default tenant's is [DefaultName].
	Name string
	// ID is the suffix of the tenant's object names; empty for the default.
	ID string
	// Gateway serves the tenant's models.
	Gateway types.NamespacedName
	// OIDC is the tenant's provider, or nil.
	OIDC *OIDC
	// OIDCProblem says why there is no provider although the tenant asks for one;
	// otherwise nil. It is an [apperr.UserError]. What would depend on the provider
	// must not be written as if nobody had asked.
	OIDCProblem error
}

// OIDC is the OpenID Connect provider of a tenant.
type OIDC struct {
	IssuerURL string
	ClientID  string
	// TTLSeconds is how long signing keys are cached.
	TTLSeconds int64
}

// MaaSAPIPort is the port maas-api serves the gateway and Authorino on.
const MaaSAPIPort = 8443

// MaaSAPIService is the name of the tenant's maas-api Service.
func (c Context) MaaSAPIService() string { return c.MaaSAPI() }

// MaaSAPIURL is the in-cluster address of the tenant's maas-api, which runs in
// the given namespace.
func (c Context) MaaSAPIURL(infraNamespace string) string {
	return fmt.Sprintf("https://%s.%s.svc.cluster.local:%d", c.MaaSAPIService(), infraNamespace, MaaSAPIPort)
}

func suffixed(name, id string) string {
	if id == "" {
		return name
	}
	return name + "-" + id
}
