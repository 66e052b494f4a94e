// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aitenant

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/apperr"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
)

// Place tells whether an AITenant may have objects: nil, or an [apperr.UserError].
// InfraNamespace is where maas-api runs.
func Place(t types.NamespacedName, settings tenancy.Settings, infraNamespace string) error {
	home := settings.TenantNamespace(t.Name)
	misplaced := func(format string, args ...any) error {
		return apperr.Userf(v1alpha1.ReasonInvalidPlacement, format, args...)
	}
	switch {
	case t.Namespace == "" || t.Namespace == infraNamespace || t.Namespace == settings.DefaultNamespace || t.Namespace != settings.AITenantNamespace:
		return misplaced("AITenants belong into namespace %s: delete this one and create it there.", settings.AITenantNamespace)
	case home == t.Namespace:
		return misplaced("The namespace of this tenant would be %s, where AITenants are: choose another name for the AITenant.", home)
	case home == infraNamespace:
		return misplaced("The namespace of this tenant would be %s, where the services of all tenants run: choose another name for the AITenant.", home)
	case len(validation.IsDNS1123Label(home)) > 0:
		return misplaced("The namespace of this tenant would be %s, which is no name for a namespace: choose a shorter name for the AITenant, of lower case letters, digits and -.", home)
	case tenancy.Reserved(t.Name):
		return apperr.Userf(v1alpha1.ReasonReservedName, "The name %s would give objects of this tenant the names of shared ones: choose another name for the AITenant.", t.Name)
	default:
		return nil
	}
}

// IsDefault tells whether an AITenant is the default tenant's.
func IsDefault(name string, settings tenancy.Settings) bool {
	return settings.TenantNamespace(name) == settings.DefaultNamespace
}
