// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

// tenantComponents are the objects of one tenant: the workload of a tenant and its rights.
func tenantComponents() []Component { return nil }
