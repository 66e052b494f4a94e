// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage holds the golden files of usage logging: facts, and a tenant with its
// switches, go in, the rendered objects come out. Run the tests with -update to rewrite
// the files.
package usage
