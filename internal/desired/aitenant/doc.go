// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aitenant decides what an AITenant makes of the cluster's objects: to whom
// they belong, where a tenant may be, what its namespace, its MaasTenantConfig and
// its claim on a Gateway look like, and which labels a Gateway needs on the
// namespace of maas-api. It is pure: it must not read the cluster.
package aitenant
