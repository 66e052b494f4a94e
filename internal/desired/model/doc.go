// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model computes the policies that guard one model: a Kuadrant
// AuthPolicy and a TokenRateLimitPolicy on the model's HTTPRoute. It is pure:
// facts come in as an [Input], values for the templates go out as an
// [Output]. It holds no client and applies nothing.
package model
