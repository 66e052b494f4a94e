// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi is the base that every handler of maas-api stands on: the
// families of error bodies, decoding and encoding of JSON, the caller's identity
// from the headers of the gateway, routes, and the middlewares around them.
//
// It knows no feature: it decides nothing about keys, models or subscriptions,
// and must not import a package that does. Features live in the packages below
// it, each of which returns its [Route] list.
package httpapi
