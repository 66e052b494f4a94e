// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package entitlement decides who may use a model, through which subscription,
// and which limits apply. It is pure: its functions take API values and return
// values, hold no client and read no clock, so that the controllers, maas-api
// and the command line can never disagree.
//
// The CEL of a generated AuthPolicy reads the same requests: its list of groups
// is that of [FromToken], [FromOIDC] and [FromKey], and its subjects rule is
// [Admits].
package entitlement
