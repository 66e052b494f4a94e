// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package platform holds the golden files of the objects that all tenants share: a
// Config and facts go in, the rendered objects and the warnings come out. Run the
// tests with -update to rewrite the files. That a cluster takes the objects from the
// operator, with its rights, is tested in package rights.
package platform
