// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service sets up what a suite needs that judges maas-api from outside: a
// real API server, a real PostgreSQL, and the service's own program as processes
// under its own ServiceAccount, which can be killed and started again. No operator
// runs: tests write the status of custom resources as the operator would.
//
// It owns what the program is started with and how it is asked; every answer is
// compared with the OpenAPI documents. What is right about an answer beyond that
// is for the suites to say.
package service
