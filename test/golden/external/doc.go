// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external holds the golden files of what is made for ExternalModels: custom
// resources go in, the rendered objects of all of them come out. They are the same on
// every platform. Every case is also applied to a real API server with the CRDs of Gateway
// API and Istio. Run the tests with -update to rewrite the files.
package external
