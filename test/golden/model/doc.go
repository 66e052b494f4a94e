// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model holds the golden files of a model's policies: custom resources
// and facts go in, the rendered objects come out. Every case is also created
// on a real API server with Kuadrant's CRDs, so that what is compared is what
// a cluster accepts, and so is every combination of features, which has no
// files. Run the tests with -update to rewrite the files.
package model
