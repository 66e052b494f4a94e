// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract compares what maas-api does with what its OpenAPI documents
// say. A Checker looks at exchanges between a test and the service: every answer
// must be described, member by member, and so must every request that the
// service accepts. It remembers what it has seen, so that a suite can demand that
// everything described was.
//
// It owns no expectation of its own: what is right stands in the documents.
package contract
