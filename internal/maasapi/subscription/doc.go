// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package subscription answers questions about callers and their subscriptions
// from one immutable picture of the tenant's objects: which subscription a request
// is charged to, in the words of the selection callback, and which ones a caller
// may see. Every decision is that of package entitlement; this package adds the
// words around it and keeps them, so that an answer takes the same time whatever
// the size of the tenant. It must not know Kubernetes clients, HTTP or a clock.
package subscription
