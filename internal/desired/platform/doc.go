// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platform decides which objects all tenants share, and computes their
// values: the rights of maas-api that no namespace bounds, the account of the
// jobs about keys, and the NetworkPolicies around maas-api. It is pure: it must
// not hold a client, and it does not know which tenants there are.
package platform
