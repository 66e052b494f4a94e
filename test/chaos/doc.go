// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos throws seeded random sequences of changes to tenants, their Gateways,
// settings and parts at the operator's own program on a real API server with its
// controllers, and kills the program at random moments meanwhile. When everything has
// come to rest, all that is in the cluster is compared with what a small model of its
// own says there should be, object by object; then all tenants are deleted, and
// nothing of them may be left.
//
// Run one again with -chaos.first=SEED -chaos.sequences=1, or many with
// -chaos.sequences=200.
package chaos
