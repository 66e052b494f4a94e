// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

// platformComponents are the objects that are shared by all tenants.
func platformComponents() []Component { return nil }
