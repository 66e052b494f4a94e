// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi owns the description of maas-api: openapi.yaml, which clients
// are given, and openapi-internal.yaml, which describes the routes of the
// gateway and of maintenance jobs and is never served. It answers /openapi.json
// and a page at /docs that renders it from embedded files alone.
//
// It must not validate requests: the handlers decide, and package test/contract
// compares what they do with what is written here.
package openapi
