// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observability_test compares what the platform's monitoring is told about an
// installation with golden files.
package observability_test
