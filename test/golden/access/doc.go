// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access keeps the access policies of tenants as files to look at, and shows
// them to the CRDs of Kuadrant.
package access
