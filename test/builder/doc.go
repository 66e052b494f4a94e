// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builder makes the objects of test suites, ready to be created. What
// a test does not say has a value that the API server accepts.
package builder
