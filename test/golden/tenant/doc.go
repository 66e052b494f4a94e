// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenant holds the golden files of a tenant's objects: its settings and
// facts go in, the rendered objects and the warnings come out. Every case is also
// applied to a real API server with the CRDs of Gateway API, Kuadrant and Istio, and
// the variables of maas-api are read by its own code. Run the tests with -update to
// rewrite the files.
package tenant
