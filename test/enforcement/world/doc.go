// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world is one whole installation in which generated policies are carried out
// by the real engines: the operator's own program, maas-api as the operator's
// Deployments start it, PostgreSQL, Kuadrant's operator, Authorino, and a provider of
// OIDC tokens for each tenant. It has two tenants side by side, the default one and
// red, each with a Gateway, a host, an issuer and a client of its own.
//
// What has no engine here, the proxy and its limiter, is the stand-in gateway, which
// follows nothing but the generated configuration. Behind it is an upstream that keeps
// what reaches it, and where asked for the model simulator.
//
// The package owns how all that is started, how a request is sent and what became of
// it. It must not know what a policy says, and judges nothing.
package world
