// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server runs maas-api's listeners: HTTP and HTTPS with every timeout set,
// certificates that are renewed while connections stay, the health endpoints, the
// metrics listener, tracing, and the order in which a process stops.
//
// It knows no route of the API and no client: handlers, checks and certificates
// are given to it.
package server
