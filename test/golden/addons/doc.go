// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package addons holds the golden files of what a tenant has beside what it needs:
// telemetry and payload processing. A configuration and facts go in, the rendered objects
// and the warnings come out, once for each platform. Every case is also taken by a real
// API server with the CRDs of Kuadrant and Istio. Run the tests with -update to rewrite
// the files.
package addons
