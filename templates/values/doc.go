// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package values holds the typed values the templates receive. It is the
// versioned public contract with packagers who replace or patch templates:
// fields are added freely, and removed or renamed only with a new
// [ContractVersion]. Values are fully resolved: no pointers, no interfaces, no
// secrets, no defaults left to a template. Optional blocks are slices of
// length zero or one.
package values

// ContractVersion names the shape of this package. Template overrides state
// the version they were written for.
const ContractVersion = "v1"
