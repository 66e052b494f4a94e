// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalog lists the models that a caller may use. What is listed follows
// from the custom resources and from the caller's entitlement, which is decided
// in the process; models of the cluster are then asked whether they let the
// caller in, with the caller's own credential.
//
// The credential of a caller is never sent anywhere but to the address of the
// tenant's own gateway, whatever a custom resource says: the host of a model's
// URL is only a name that is asked for there. It is not logged, not kept, and
// appears in no error and no metric.
//
// The package knows nothing of HTTP handlers and of Kubernetes clients: it is
// handed an index of the tenant and the address of the gateway.
package catalog
