// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenant computes the objects of one tenant: its maas-api with the rights,
// certificate and route it needs, the guard of its Gateway, the Roles of its
// administrators and the Job that revokes its keys. It is pure: it must not read the
// cluster, and it decides neither when nor whether anything is applied.
package tenant
