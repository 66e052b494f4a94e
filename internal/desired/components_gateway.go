// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

// gatewayComponents are the objects of one tenant: the policies of a tenant's Gateway and of maas-api behind it.
func gatewayComponents() []Component { return nil }
