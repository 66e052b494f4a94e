// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package arch_test

// root is the directory of the main module, seen from this package.
const root = "../.."
