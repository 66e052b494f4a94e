// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook refuses at admission what the schema of a kind cannot see,
// because it depends on other objects: a subscription or an auth policy in a
// namespace that belongs to no tenant, and a model for an AITenant that does not
// exist. It owns the handlers and their paths; config/webhook registers them.
//
// It must not decide about tenants by itself: it asks package tenancy what
// reconcilers ask. It must stand in nobody's way: it judges creations and new
// values of spec.tenantRef, never deletions, finalizers, statuses or changes of
// anything else. It writes nothing.
package webhook
