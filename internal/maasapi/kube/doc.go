// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is all that maas-api asks of the Kubernetes API server. [Cache]
// follows the tenant's models, subscriptions and auth policies and makes an
// immutable snapshot of them after each change; [Reviewer] asks who a token belongs
// to and what a user may do; [Gateways] finds the tenant's gateway; [Clients] reads
// the Secret with the address of the database. [Rights] lists the rights that all
// of it needs.
//
// No request for inference waits for anything here but the admin check. The
// package must not decide about callers, and must not know HTTP handlers or SQL.
package kube
